import { fillFast } from '../../sample-data/fill-fast.ts';
import { startFirestoreSandbox } from '../server.ts';

/** The sandbox with one large collection, in a process of its own, for the benchmark beside it. */
const documents = Number(process.argv[2] ?? 1_000_000);
const sandbox = await startFirestoreSandbox();
const database = sandbox.control.database({ project: 'bench', database: '(default)' });
const startedAtMs = performance.now();
fillFast(database, { collection: 'plain', documents });
const first = database.all.leaf(0)![0]!.newest!;
process.send?.({
  port: sandbox.port,
  fillMs: performance.now() - startedAtMs,
  documentBytes: first.length,
  rssBytes: process.memoryUsage().rss,
});
process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rssBytes: process.memoryUsage().rss }));
process.once('disconnect', () => process.exit(0));
