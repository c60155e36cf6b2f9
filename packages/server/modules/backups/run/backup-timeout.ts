import { minuteMs } from '../../../platform/durations.ts';
import { backupTimeoutMinutesDefault } from '../../projects/index.ts';

/** Far below what a source gives, so that only a backup that is stuck runs into its end. */
const documentsPerMinute = 20_000;
/** The longest a project may set itself. */
const timeoutMinutesMax = 10_080;

/** How long a backup may take: what the project says, else a time that grows with its documents. */
export function backupTimeoutMs(setting: number | null, documents = 0): number {
  const grown = backupTimeoutMinutesDefault + Math.ceil(documents / documentsPerMinute);
  return (setting ?? Math.min(timeoutMinutesMax, grown)) * minuteMs;
}
