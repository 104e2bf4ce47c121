import com.alibaba.nacos.api.naming.NamingService;
import com.alibaba.nacos.api.naming.pojo.Instance;
import java.util.List;

/** What the clients before 2.x lack: they speak HTTP. */
final class Generation {
    private Generation() {
    }

    static void batch(NamingService naming, String service, String group, List<Instance> instances) {
        throw new UnsupportedOperationException("the Java client has no batch registration before 2.x");
    }

    static void batchDeregister(NamingService naming, String service, String group, List<Instance> instances) {
        batch(naming, service, group, instances);
    }

    /** A client that just ends leaves its instances to the server, which would keep them for half a minute. */
    static boolean leavesInstances() {
        return true;
    }
}
