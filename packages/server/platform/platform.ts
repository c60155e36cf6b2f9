import type { Config } from '../config.ts';
import type { Changes } from './changes.ts';
import type { Clock } from './clock.ts';
import type { CpuTurns } from './cpu-turns.ts';
import type { Cursors } from './cursor.ts';
import type { Database } from './database/database.ts';
import type { Ids } from './ids.ts';
import type { Logger } from './log.ts';
import type { Outbound } from './outbound/outbound.ts';
import type { Outbox } from './outbox.ts';
import type { Queue } from './queue.ts';
import type { Keyring } from './secrets/keyring.ts';

/** What every module may stand on. Made once by the composition and handed down; nothing here knows a module. */
export interface Platform {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly database: Database;
  /** What changes in an organization, as it happens. */
  readonly changes: Changes;
  readonly queue: Queue;
  readonly outbox: Outbox;
  readonly keyring: Keyring;
  readonly cursors: Cursors;
  /** For whatever computes for long while others wait for answers. */
  readonly cpuTurns: CpuTurns;
  /** The way to addresses that customers name. */
  readonly outbound: Outbound;
  /** The address people use, without a slash at the end. Known once the socket listens. */
  readonly baseUrl: () => string;
}
