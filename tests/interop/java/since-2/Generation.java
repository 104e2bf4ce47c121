import com.alibaba.nacos.api.naming.NamingService;
import com.alibaba.nacos.api.naming.pojo.Instance;
import java.util.List;

/** What only the clients since 2.x can do: they speak gRPC. */
final class Generation {
    private Generation() {
    }

    static void batch(NamingService naming, String service, String group, List<Instance> instances) throws Exception {
        naming.batchRegisterInstance(service, group, instances);
    }

    static void batchDeregister(NamingService naming, String service, String group, List<Instance> instances) throws Exception {
        naming.batchDeregisterInstance(service, group, instances);
    }

    /** The end of the connection takes everything back. */
    static boolean leavesInstances() {
        return false;
    }
}
