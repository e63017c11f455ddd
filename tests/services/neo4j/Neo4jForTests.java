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
 * A real Neo4j server for tests, with Bolt on 127.0.0.1 and authentication. Arguments: folder, port, password, and "once" to exit after the start.
 * Without "once" it exits when standard input closes, so that it does not outlive a killed test.
 */
public class Neo4jForTests {
    public static void main(String[] arguments) {
        boolean isOnce = arguments.length > 3;
        Thread watcher = new Thread(Neo4jForTests::exitWhenInputCloses);
        watcher.setDaemon(true);
        if (!isOnce) watcher.start();
        try {
            serve(Path.of(arguments[0]), Integer.parseInt(arguments[1]), arguments[2]);
            if (isOnce) System.exit(0);
        } catch (Throwable failure) {
            // Neo4j's threads would keep the process alive.
            failure.printStackTrace();
            System.exit(1);
        }
    }

    private static void serve(Path folder, int port, String password) {
        boolean isNew = !Files.exists(folder);
        SocketAddress address = new SocketAddress("127.0.0.1", port);
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(folder)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, address)
            .setConfig(BoltConnector.advertised_address, address)
            .setConfig(HttpConnector.enabled, false)
            .setConfig(HttpsConnector.enabled, false)
            .setConfig(GraphDatabaseSettings.auth_enabled, true)
            .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.mebiBytes(64))
            // Otherwise each test allocates half a gigabyte of empty logs.
            .setConfig(GraphDatabaseSettings.preallocate_logical_logs, false)
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        if (isNew) {
            // A new server requires a password change before the first query.
            server.database("system").executeTransactionally(
                "ALTER USER neo4j SET PLAINTEXT PASSWORD $password SET PASSWORD CHANGE NOT REQUIRED",
                Map.of("password", password));
        }
        System.out.println("ready " + port);
    }

    private static void exitWhenInputCloses() {
        try {
            while (System.in.read() >= 0) { }
        } catch (java.io.IOException ended) {
            // Treat a read error like the end of input.
        }
        System.exit(0);
    }
}
