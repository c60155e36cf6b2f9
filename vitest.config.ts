import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/**/*.test.ts', 'bench/**/*.test.ts', '*.test.ts'],
    globalSetup: ['packages/server/testing/global-setup.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What happens in the background takes as long as the machine is busy.
    expect: { poll: { timeout: 15_000 } },
  },
});
