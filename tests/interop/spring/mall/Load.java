package mall;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.http.HttpEntity;
import org.springframework.http.HttpMethod;
import org.springframework.web.client.RestTemplate;

/** Calls a service through the load balancer from some threads, so many times or until it is ended, and counts who answered. */
final class Load {
    private final RestTemplate web;
    private final String url;
    private final HttpMethod method;
    private final AtomicLong left;
    private final List<Thread> threads = new ArrayList<>();
    private final Map<String, Long> answers = new TreeMap<>();
    private final Map<String, Long> failures = new TreeMap<>();

    Load(RestTemplate web, JsonNode command, long calls) {
        this.web = web;
        url = "http://" + command.get("service").asText() + command.get("path").asText();
        method = HttpMethod.valueOf(command.path("method").asText("GET"));
        left = new AtomicLong(calls);
        for (int number = 0; number < command.get("threads").asInt(); number++) {
            Thread thread = new Thread(this::call, "caller " + number);
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
    }

    private void call() {
        while (left.getAndDecrement() > 0) {
            try {
                count(answers, web.exchange(url, method, HttpEntity.EMPTY, String.class).getBody());
            } catch (RuntimeException e) {
                count(failures, e.getMessage());
            }
        }
    }

    private synchronized void count(Map<String, Long> counts, String what) {
        counts.merge(String.valueOf(what), 1L, Long::sum);
    }

    synchronized Map<String, Object> soFar() {
        return Map.of("answers", new TreeMap<>(answers), "failures", new TreeMap<>(failures));
    }

    Map<String, Object> end() throws InterruptedException {
        left.set(0);
        return join();
    }

    Map<String, Object> join() throws InterruptedException {
        for (Thread thread : threads) {
            thread.join();
        }
        return soFar();
    }
}
