package peer;

import com.alibaba.nacos.api.remote.request.Request;
import com.alibaba.nacos.auth.AuthManager;
import com.alibaba.nacos.auth.exception.AccessException;
import com.alibaba.nacos.auth.model.Permission;
import com.alibaba.nacos.auth.model.User;
import com.alibaba.nacos.core.code.ControllerMethodsCache;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.annotation.PostConstruct;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.servlet.http.HttpServletRequest;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.ServletComponentScan;
import org.springframework.http.ResponseEntity;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** The modules without the console: their filters ask these users, where the console would be asked. */
@SpringBootApplication(scanBasePackages = {"com.alibaba.nacos", "peer"})
@ServletComponentScan("com.alibaba.nacos")
@EnableScheduling
public class NacosWithLogin {

    public static void main(String[] args) {
        SpringApplication.run(NacosWithLogin.class, args);
    }

    /** One user, and tokens that are signed end times. */
    @Component
    static class Users implements AuthManager {
        @Value("${nacos.core.auth.default.token.secret.key}")
        private String secret;

        @Value("${nacos.core.auth.default.token.expire.seconds}")
        long seconds;

        String grant() {
            String end = Long.toString(System.currentTimeMillis() + seconds * 1000);
            return end + "." + signature(end);
        }

        @Override
        public User login(Object request) throws AccessException {
            HttpServletRequest http = (HttpServletRequest) request;
            return user(http.getHeader("Authorization"), http.getParameter("accessToken"));
        }

        @Override
        public User loginRemote(Object request) throws AccessException {
            Request remote = (Request) request;
            return user(remote.getHeader("Authorization"), remote.getHeader("accessToken"));
        }

        @Override
        public void auth(Permission permission, User user) {
        }

        private User user(String bearer, String token) throws AccessException {
            String given = bearer != null && bearer.startsWith("Bearer ") ? bearer.substring(7) : token;
            if (given == null || given.isEmpty()) {
                throw new AccessException("user not found!");
            }
            String[] parts = given.split("\\.", 2);
            if (parts.length != 2 || !signature(parts[0]).equals(parts[1])) {
                throw new AccessException("token invalid!");
            }
            if (Long.parseLong(parts[0]) < System.currentTimeMillis()) {
                throw new AccessException("token expired!");
            }
            User user = new User();
            user.setUserName("nacos");
            return user;
        }

        private String signature(String text) {
            try {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
                byte[] signed = mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
                return Base64.getUrlEncoder().withoutPadding().encodeToString(signed);
            } catch (java.security.GeneralSecurityException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    @RestController
    static class Login {
        private final Users users;

        Login(Users users) {
            this.users = users;
        }

        @PostMapping({"/v1/auth/users/login", "/v1/auth/login"})
        ResponseEntity<?> login(@RequestParam String username, @RequestParam String password) {
            if (!username.equals("nacos") || !password.equals("nacos")) {
                return ResponseEntity.status(403).body("unknown user!");
            }
            String token = users.grant();
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("accessToken", token);
            answer.put("tokenTtl", users.seconds);
            answer.put("globalAdmin", true);
            // The console of Nacos answers so, too: it shows how it wants to be shown the token.
            return ResponseEntity.ok().header("Authorization", "Bearer " + token).body(answer);
        }
    }

    @Component
    static class Routes {
        private final ControllerMethodsCache routes;

        Routes(ControllerMethodsCache routes) {
            this.routes = routes;
        }

        @PostConstruct
        void index() {
            routes.initClassMethod("com.alibaba.nacos.core.controller");
            routes.initClassMethod("com.alibaba.nacos.naming.controllers");
            routes.initClassMethod("com.alibaba.nacos.config.server.controller");
        }
    }
}
