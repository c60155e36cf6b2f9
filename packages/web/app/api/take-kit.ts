import { saveFile } from '../format/save-file.ts';
import { useAct } from './calls.ts';

/** Hands the recovery kit to the browser as a file. */
export function useTakeKit() {
  return useAct('takeRecoveryKit', {
    onDone: (kit) => saveFile('holdfast-recovery-kit.txt', String(kit), 'text/plain'),
  });
}
