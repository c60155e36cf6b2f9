import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that drive a whole service wait for databases and sockets more than they compute. */
const workersMax = availableParallelism() + 4;

/** These wait or compute longest; begun last, they would run alone while the other workers are idle. */
const longest = [
  'packages/server/modules/backups/run/cluster.test.ts',
  'packages/server/modules/organizations/lifecycle/running-work.test.ts',
  'packages/server/modules/restores/ranges/cluster.test.ts',
  'packages/web/tests/accessibility.test.ts',
  'packages/server/modules/schedules/due/schedulers.test.ts',
  'packages/server/modules/restores/undo.test.ts',
  'packages/web/tests/three-am.test.ts',
  'packages/web/tests/people.test.ts',
  'packages/server/model.test.ts',
  'packages/server/files.fuzz.test.ts',
  'packages/server/matrix.test.ts',
  'packages/cli/documentation/worst-day.test.ts',
  'packages/engine/stores/conformance.test.ts',
  'packages/engine/testing/as-google.fuzz.test.ts',
  'packages/server/main.test.ts',
  'packages/server/modules/pitr/lifecycle.test.ts',
  'packages/server/upgrade.test.ts',
  'packages/server/rolling-work.test.ts',
  'packages/server/rolling-restart.test.ts',
  'packages/cli/documentation/trials.test.ts',
  'packages/cli/documentation/command-line.test.ts',
  'packages/web/tests/awkward.test.ts',
  'packages/server/typed-client.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = longest.findIndex((path) => moduleId.endsWith(path));
      return index < 0 ? longest.length : index;
    };
    return (await super.sort(files)).sort((left, right) => rank(left) - rank(right));
  }
}

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
    // No promise about speed: what stands still is ended. A machine with other work beside takes several times as long.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    teardownTimeout: 30_000,
    // What happens in the background takes as long as the machine is busy, and who asks more often makes it busier.
    expect: { poll: { timeout: 60_000, interval: 100 } },
    maxWorkers: workersMax,
    tags: [
      {
        name: 'long',
        description: 'A promise that takes seconds to hold; `npm test` leaves it to `npm test -- --all`.',
      },
    ],
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'plain',
          include: [
            'packages/{contract,engine,sandbox}/**/*.test.ts',
            'bench/**/*.test.ts',
            'deploy/**/*.test.ts',
            '*.test.ts',
          ],
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
