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
import type { MasterKeyring } from './secrets/master-keyring.ts';

/** What every module may use. Created once by the composition; nothing here knows a module. */
export interface Platform {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly database: Database;
  /** Changes in an organization, as they happen. */
  readonly changes: Changes;
  readonly queue: Queue;
  readonly outbox: Outbox;
  readonly keyring: MasterKeyring;
  readonly cursors: Cursors;
  /** For long computations while others wait for answers. */
  readonly cpuTurns: CpuTurns;
  /** Connections to addresses that customers name. */
  readonly outbound: Outbound;
  /** The public address, without a slash at the end. Known once the socket listens. */
  readonly baseUrl: () => string;
}
