import { saveFile } from '../format/save-file.ts';
import { useAct } from './calls.ts';

/** Downloads the recovery kit. */
export function useTakeKit() {
  return useAct('takeRecoveryKit', {
    onDone: (kit) => saveFile('holdfast-recovery-kit.txt', String(kit), 'text/plain'),
  });
}
