import { loadConfig } from '@holdfast/server/config';
import { startEmbeddedDatabase } from '@holdfast/server/embedded-database';
import { createProcessLogger } from '@holdfast/server/platform/log';
import { once } from './demo-options.ts';

export const config = loadConfig({
  ...process.env,
  HOLDFAST_DATA: process.env.HOLDFAST_DATA ?? '.holdfast/demo',
  PORT: process.env.PORT ?? (once ? '0' : '8787'),
  ALLOW_EMULATOR_SOURCES: 'true',
  ALLOW_LOCAL_STORAGE: 'true',
  LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  LOCAL_SIGN_IN: 'true',
  // So that nobody waits ten seconds for the end of a segment.
  PITR_SEGMENT_SECONDS: process.env.PITR_SEGMENT_SECONDS ?? '1',
});

export const log = createProcessLogger(config);

/** Starts while the story is loaded. */
export const embeddedDatabase = startEmbeddedDatabase(config, log);
