const trials = 'packages/cli/documentation/trials.test.ts';
const commandLine = 'packages/cli/documentation/command-line.test.ts';
const recovery = 'packages/cli/documentation/worst-day.test.ts';
const secondReader = 'packages/cli/documentation/second-reader.test.ts';
const pages = 'packages/cli/documentation/pages.test.ts';

/** Which test runs the commands of a page: all of them, or the block of this name. */
export const blocksRunBy: Readonly<Record<string, string>> = {
  'README.md#demo': trials,
  'README.md#developer': trials,
  'README.md#integrator': trials,
  'README.md#operator': trials,
  'README.md#disaster': recovery,
  'docs/cli.md': commandLine,
  'docs/pitr.md': commandLine,
  'docs/recovery.md': recovery,
  'docs/sandbox.md': pages,
  'docs/sandbox-storage.md': pages,
  'docs/identity.md': pages,
  'docs/format.md#second-reader': secondReader,
  'docs/firebase.md': 'packages/cli/documentation/firebase.test.ts',
  'packages/contract/README.md': 'packages/server/typed-client.test.ts',
};

/**
 * Blocks that cannot be run here, and why. In `vendors.test.ts` the programs themselves check them, where they are
 * installed.
 */
export const blocksNotRun: Readonly<Record<string, string>> = {
  'docs/firebase.md#google-cloud': 'a project at Google',
  'docs/firebase.md#s3': 'an account at Amazon',
  'docs/firebase.md#gcs': 'a project at Google',
  'docs/firebase.md#services': 'a machine that systemd runs',
  'docs/operations.md#dump': 'the tools of PostgreSQL, in the version of its server',
  'docs/operations.md#come-back': 'the tools of PostgreSQL, in the version of its server',
};

/** Which test runs a command that a sentence names. Commands of `holdfast` itself are in blocks. */
export const sentencesRunBy: readonly (readonly [RegExp, string])[] = [
  [/^npm (install|test|start|run demo -- --once|start -- --env-file holdfast\.env)$/, trials],
  [/^npm run (config|dev|rotate-master-key( -- --env-file holdfast\.env)?)$/, pages],
  [/^npx vite packages\/web$/, pages],
  [/^npx node packages\/sandbox\/(firestore|google|s3|gcs)\/main\.ts$/, pages],
  [/^npx node packages\/sandbox\/firestore\/bench\/run-query\.ts /, pages],
  [/^npx holdfast( |$)/, trials],
  [/^holdfast local export$/, secondReader],
  [/^node check-audit-log\.mjs /, 'packages/server/modules/audit/check-export.test.ts'],
  [/^node check-report\.mjs /, 'packages/server/modules/restores/drills/drills.test.ts'],
  [/^promtool test rules$/, 'packages/server/modules/overview/metrics/metrics.test.ts'],
];

/** Commands that a sentence names and no test runs, and why. */
export const sentencesNotRun: readonly (readonly [RegExp, string])[] = [
  [
    /^npm run (bench|chaos) -- /,
    'minutes to hours on a machine that does nothing else; that the name exists is tested',
  ],
  [/^npx vitest run packages\/sandbox/, 'a part of `npm test`'],
  [/^npm install --omit=dev && npm start$/, '`npm run try-install` does it'],
  [/^npm run try-install$/, 'installs from the registry, some minutes; run before a release'],
  [/^npm run migration$/, 'fetches its tool from the registry; for a change of tables'],
  [/^npm run pictures$/, 'takes the pictures anew; for a change of pages'],
  [/^docker (build|compose up( --build)?)$/, 'a container engine'],
  [/^helm install$/, 'a cluster'],
  [/^(gcloud firestore export|firebase emulators:export)$/, 'names where a file comes from'],
  [/^kill -9$/, 'names a signal'],
];
