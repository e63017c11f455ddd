import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.connectors.HttpsConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.io.ByteUnit;

/**
 * A real Neo4j server for tests: Bolt on 127.0.0.1 with sign-in, nothing else. Arguments: folder, port, password.
 * Ends when standard input ends, whatever it is doing then, so that it cannot outlive the test that started it.
 */
public class Neo4jForTests {
    public static void main(String[] arguments) {
        Thread watch = new Thread(Neo4jForTests::endWithInput);
        watch.setDaemon(true);
        watch.start();
        try {
            serve(Path.of(arguments[0]), Integer.parseInt(arguments[1]), arguments[2]);
        } catch (Throwable failure) {
            // Neo4j's own threads would keep the process alive.
            failure.printStackTrace();
            System.exit(1);
        }
    }

    private static void serve(Path folder, int port, String password) {
        boolean fresh = !Files.exists(folder);
        SocketAddress address = new SocketAddress("127.0.0.1", port);
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(folder)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .setConfig(BoltConnector.advertised_address, address)
            .setConfig(HttpConnector.enabled, false)
            .setConfig(HttpsConnector.enabled, false)
            .setConfig(GraphDatabaseSettings.auth_enabled, true)
            .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.mebiBytes(64))
            // Half a gigabyte of empty log for each test otherwise.
            .setConfig(GraphDatabaseSettings.preallocate_logical_logs, false)
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        if (fresh) {
            // A fresh server asks everybody to choose a password first; a test does it here and not over the wire.
            server.database("system").executeTransactionally(
                "ALTER USER neo4j SET PLAINTEXT PASSWORD $password SET PASSWORD CHANGE NOT REQUIRED",
                Map.of("password", password));
        }
        System.out.println("ready " + port);
    }

    private static void endWithInput() {
        try {
            while (System.in.read() >= 0) { }
        } catch (java.io.IOException ended) {
            // As good as the end.
        }
        System.exit(0);
    }
}
