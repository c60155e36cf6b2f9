import type { Bench } from '../figure.ts';
import { measureCapture, steadily } from './capture.ts';
import { measureHistory } from './history.ts';
import { measureQuiet } from './quiet.ts';
import { measureRecovery } from './recovery.ts';
import { withPitrService } from './service.ts';

export const pitrBench: Bench = {
  name: 'pitr',
  about: `Point-in-time recovery, the whole service in one process: ${steadily.perSecond.toLocaleString('en-US')} writes a second for ${steadily.seconds} seconds, each a commit of its own; quiet projects; an instant behind a log ten times as old; the history of one document among a million.`,
  async run() {
    return await withPitrService(async (service) => {
      const project = 'busy';
      const projectId = await service.addProject(project);
      const captured = await measureCapture(service, projectId, project);
      const recovered = await measureRecovery(service, projectId, project);
      await service.client.disablePitr({ params: { projectId }, body: {} });
      const quiet = await measureQuiet(service);
      return [...captured, ...recovered, ...quiet, ...(await measureHistory(service))];
    });
  },
};
