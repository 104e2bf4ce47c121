import com.alibaba.nacos.api.NacosFactory;
import com.alibaba.nacos.api.naming.NamingMaintainFactory;
import com.alibaba.nacos.api.naming.NamingMaintainService;
import com.alibaba.nacos.api.naming.NamingService;
import com.alibaba.nacos.api.naming.listener.EventListener;
import com.alibaba.nacos.api.naming.listener.NamingEvent;
import com.alibaba.nacos.api.naming.pojo.Instance;
import com.alibaba.nacos.api.naming.pojo.ListView;
import com.alibaba.nacos.api.naming.pojo.Service;
import com.alibaba.nacos.api.selector.NoneSelector;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** Speaks the line protocol of README.md for the Java client: one command in, one answer out, events as they come. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private final NamingService naming;
    private final NamingMaintainService maintain;
    private final Map<String, EventListener> listeners = new HashMap<>();
    private final Map<String, Removal> registered = new HashMap<>();

    private interface Removal {
        void run() throws Exception;
    }

    private Driver(NamingService naming, NamingMaintainService maintain) {
        this.naming = naming;
        this.maintain = maintain;
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("serverAddr", args[0]);
        String user = System.getenv("INTEROP_USERNAME");
        if (user != null) {
            properties.put("username", user);
            properties.put("password", System.getenv("INTEROP_PASSWORD"));
        }
        Driver driver = new Driver(NacosFactory.createNamingService(properties), NamingMaintainFactory.createMaintainService(properties));
        print(Map.of("event", "ready"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode command = JSON.readTree(line);
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("id", command.get("id").asLong());
            try {
                answer.put("result", driver.execute(command));
                answer.put("ok", true);
            } catch (Exception | LinkageError e) {
                answer.put("ok", false);
                answer.put("error", e.toString());
            }
            print(answer);
            if (command.get("cmd").asText().equals("exit")) {
                break;
            }
        }
        System.exit(0);
    }

    private Object execute(JsonNode command) throws Exception {
        String service = command.path("service").asText();
        String group = command.path("group").asText();
        switch (command.get("cmd").asText()) {
            case "register":
                Instance added = instance(command.get("instance"));
                naming.registerInstance(service, group, added);
                registered.put(key(service, group, added), () -> naming.deregisterInstance(service, group, added));
                return null;
            case "batch":
                Generation.batch(naming, service, group, instances(command));
                return null;
            case "batch_deregister":
                Generation.batchDeregister(naming, service, group, instances(command));
                return null;
            case "deregister":
                Instance removed = instance(command.get("instance"));
                naming.deregisterInstance(service, group, removed);
                registered.remove(key(service, group, removed));
                return null;
            case "list":
                return list(service, group, clusters(command), command.path("healthy"));
            case "subscribe":
                subscribe(service, group, clusters(command));
                return null;
            case "unsubscribe":
                naming.unsubscribe(service, group, clusters(command), listeners.remove(group + "@@" + service));
                return null;
            case "services":
                ListView<String> view = naming.getServicesOfServer(1, 10_000, group);
                return Map.of("count", view.getCount(), "names", view.getData());
            case "exit":
                if (Generation.leavesInstances()) {
                    for (Removal removal : registered.values()) {
                        removal.run();
                    }
                }
                naming.shutDown();
                maintain.shutDown();
                return null;
            default:
                return manage(command, service, group);
        }
    }

    /** The calls of the maintain service, which speaks HTTP. */
    private Object manage(JsonNode command, String service, String group) throws Exception {
        float threshold = (float) command.path("threshold").asDouble();
        switch (command.get("cmd").asText()) {
            case "create_service":
                Service created = new Service();
                created.setName(service);
                created.setGroupName(group);
                created.setProtectThreshold(threshold);
                created.setMetadata(metadata(command));
                maintain.createService(created, new NoneSelector());
                return null;
            case "update_service":
                maintain.updateService(service, group, threshold, metadata(command));
                return null;
            case "query_service":
                Service found = maintain.queryService(service, group);
                return Map.of("name", found.getName(), "group", found.getGroupName(), "threshold", found.getProtectThreshold(), "metadata", found.getMetadata());
            case "delete_service":
                return maintain.deleteService(service, group);
            case "update_instance":
                maintain.updateInstance(service, group, instance(command.get("instance")));
                return null;
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private List<Map<String, Object>> list(String service, String group, List<String> clusters, JsonNode healthy) throws Exception {
        List<Instance> found = healthy.isBoolean()
                ? naming.selectInstances(service, group, clusters, healthy.asBoolean(), false)
                : naming.getAllInstances(service, group, clusters, false);
        return plain(found);
    }

    private void subscribe(String service, String group, List<String> clusters) throws Exception {
        EventListener listener = event -> {
            Map<String, Object> line = new LinkedHashMap<>();
            line.put("event", "change");
            line.put("at", System.currentTimeMillis());
            line.put("service", service);
            line.put("instances", plain(((NamingEvent) event).getInstances()));
            print(line);
        };
        listeners.put(group + "@@" + service, listener);
        naming.subscribe(service, group, clusters, listener);
    }

    private static String key(String service, String group, Instance instance) {
        return String.join("#", group, service, instance.getIp(), String.valueOf(instance.getPort()));
    }

    private static List<String> clusters(JsonNode command) {
        List<String> clusters = new ArrayList<>();
        command.path("clusters").forEach(cluster -> clusters.add(cluster.asText()));
        return clusters;
    }

    private static List<Instance> instances(JsonNode command) {
        List<Instance> instances = new ArrayList<>();
        command.get("instances").forEach(node -> instances.add(instance(node)));
        return instances;
    }

    private static Instance instance(JsonNode node) {
        Instance instance = new Instance();
        instance.setIp(node.get("ip").asText());
        instance.setPort(node.get("port").asInt());
        instance.setWeight(node.get("weight").asDouble());
        instance.setHealthy(node.get("healthy").asBoolean());
        instance.setEnabled(node.get("enabled").asBoolean());
        instance.setEphemeral(node.get("ephemeral").asBoolean());
        instance.setClusterName(node.get("cluster").asText());
        instance.setMetadata(metadata(node));
        return instance;
    }

    private static Map<String, String> metadata(JsonNode node) {
        Map<String, String> metadata = new HashMap<>();
        node.get("metadata").fields().forEachRemaining(entry -> metadata.put(entry.getKey(), entry.getValue().asText()));
        return metadata;
    }

    private static List<Map<String, Object>> plain(List<Instance> instances) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (Instance instance : instances) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("ip", instance.getIp());
            one.put("port", instance.getPort());
            one.put("weight", instance.getWeight());
            one.put("healthy", instance.isHealthy());
            one.put("enabled", instance.isEnabled());
            one.put("ephemeral", instance.isEphemeral());
            one.put("cluster", instance.getClusterName());
            one.put("metadata", instance.getMetadata());
            all.add(one);
        }
        return all;
    }

    private static void print(Map<String, Object> line) {
        try {
            String text = JSON.writeValueAsString(line);
            synchronized (OUT) {
                OUT.println(text);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
