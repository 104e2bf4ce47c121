package mall;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.client.discovery.DiscoveryClient;
import org.springframework.cloud.client.loadbalancer.LoadBalanced;
import org.springframework.context.annotation.Bean;
import org.springframework.http.client.SimpleClientHttpRequestFactory;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestTemplate;

/** An application of Spring Cloud Alibaba as teams write them: its application.yml says whether it is registered and how it chooses. */
@RestController
@SpringBootApplication(proxyBeanMethods = false)
public class Application {
    /** How long a call of /work takes, in ms. */
    private static final long WORK_MS = 20;

    @Value("${spring.cloud.nacos.discovery.metadata.name:}")
    private String name;

    public static void main(String[] args) {
        SpringApplication.run(Application.class, args);
    }

    @Bean
    @LoadBalanced
    static RestTemplate web() {
        SimpleClientHttpRequestFactory connections = new SimpleClientHttpRequestFactory();
        connections.setConnectTimeout(10_000);
        connections.setReadTimeout(10_000);
        return new RestTemplate(connections);
    }

    @Bean
    static Commands commands(RestTemplate web, DiscoveryClient discovery, ObjectMapper json) {
        return new Commands(web, discovery, json);
    }

    @RequestMapping("/who")
    String who() {
        return name;
    }

    @RequestMapping("/work")
    String work() throws InterruptedException {
        Thread.sleep(WORK_MS);
        return name;
    }
}
