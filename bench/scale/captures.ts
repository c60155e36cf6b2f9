import type { Bench } from '../figure.ts';
import { measureQuiet } from '../pitr/quiet.ts';
import { withPitrService } from '../pitr/service.ts';

const size = { projects: 2_000, settleSeconds: 60, quietSeconds: 60 };

export const scaleCapturesBench: Bench = {
  name: 'scale-captures',
  about: `Point-in-time recovery of ${size.projects.toLocaleString('en-US')} quiet projects in one process, with its Firestore and PostgreSQL on the same machine.`,
  run: () => withPitrService((service) => measureQuiet(service, size)),
};
