package mall;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.cloud.client.ServiceInstance;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.web.client.RestTemplate;

/** Speaks the line protocol of an application, see README.md: one command in, one answer out. */
final class Commands implements ApplicationRunner {
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final Map<String, Load> loads = new HashMap<>();
    private final RestTemplate web;
    private final DiscoveryClient discovery;
    private final ObjectMapper json;

    Commands(RestTemplate web, DiscoveryClient discovery, ObjectMapper json) {
        this.web = web;
        this.discovery = discovery;
        this.json = json;
    }

    /** Spring calls this once the application listens and is registered. */
    @Override
    public void run(ApplicationArguments arguments) throws IOException {
        Thread reader = new Thread(this::read, "commands");
        reader.setDaemon(true);
        reader.start();
        print(Map.of("event", "ready"));
    }

    private void read() {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                print(answer(json.readTree(line)));
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private Map<String, Object> answer(JsonNode command) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", command.get("id").asLong());
        try {
            answer.put("result", execute(command));
            answer.put("ok", true);
        } catch (Exception e) {
            answer.put("ok", false);
            answer.put("error", e.toString());
        }
        return answer;
    }

    private Object execute(JsonNode command) throws InterruptedException {
        String load = command.path("load").asText();
        switch (command.get("cmd").asText()) {
            case "call":
                return new Load(web, command, command.get("calls").asLong()).join();
            case "load":
                loads.put(load, new Load(web, command, Long.MAX_VALUE));
                return null;
            case "so_far":
                return loads.get(load).soFar();
            case "end":
                return loads.remove(load).end();
            case "instances":
                return instances(command.get("service").asText());
            default:
                throw new IllegalArgumentException("unknown command");
        }
    }

    private List<Map<String, Object>> instances(String service) {
        List<Map<String, Object>> all = new ArrayList<>();
        for (ServiceInstance instance : discovery.getInstances(service)) {
            all.add(Map.of("ip", instance.getHost(), "port", instance.getPort(), "metadata", instance.getMetadata()));
        }
        return all;
    }

    private void print(Map<String, Object> line) throws IOException {
        out.println(json.writeValueAsString(line));
    }
}
