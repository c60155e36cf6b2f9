import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Tests that drive a whole service wait for databases and sockets more than they compute. */
const workersMax = availableParallelism() + 1;

/**
 * Two projects by need. Which one a test belongs to is told by its folder, so that a new test is fast without being told how:
 * files of one worker share its modules, which take longer to load than most tests take to run. What a test changes in its
 * process (environment, timers, globals) it therefore puts back.
 */
export default defineConfig({
  test: {
    // Google's clients would ask the network whether this is a machine of theirs; tests stay on this one.
    env: {
      METADATA_SERVER_DETECTION: 'none',
      // Services and command lines that tests start as processes load in half the time from the second one on.
      NODE_COMPILE_CACHE: fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url)),
    },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    // What happens in the background takes as long as the machine is busy.
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: workersMax,
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'plain',
          include: ['packages/{contract,engine,sandbox}/**/*.test.ts', 'bench/**/*.test.ts', '*.test.ts'],
          pool: 'threads',
        },
      },
      {
        extends: true,
        test: {
          name: 'database',
          include: ['packages/{server,cli,web}/**/*.test.ts'],
          globalSetup: ['packages/server/testing/global-setup.ts'],
          pool: 'forks',
        },
      },
    ],
  },
});
