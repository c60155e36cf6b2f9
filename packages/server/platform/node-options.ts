/**
 * How Node is started for a service; `npm start`, the container and the unit of systemd say the same. V8 collects young
 * memory with as many helpers as its pool has threads, four by default, and the thread that answers calls waits for all
 * of them: where the cores are busy with jobs, each call behind such a collection waits several times longer.
 */
export const nodeOptions = ['--v8-pool-size=1'] as const;
