import type { HoldfastError } from '@holdfast/contract/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { FlaskConical } from 'lucide-react';
import { useAll, useRead } from '../../api/calls.ts';
import { clientFor } from '../../api/client.ts';
import { useCan, useWorkplace, useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { requestOf, usualDraft } from '../schedules/draft.ts';

const source = { sourceProjectId: 'sample-shop', connection: { type: 'emulator', host: 'sample' } } as const;

/** One click opens the sample project with a first backup and a schedule, if the service has one. */
export function Sample() {
  const isAllowed = useRead('getOrganization', {}).data?.allows.sample;
  const projects = useAll('listProjects', {});
  const canOpen = useCan('admin');
  const open = useOpenSample();
  if (isAllowed === undefined || !projects.rows) return null;
  const isOpen = projects.rows.some(({ connection }) => connection.host === source.connection.host);
  if (isAllowed && !isOpen && !canOpen) return null;
  return (
    <Panel tone="bg">
      <h2 className="mb-1 flex items-center gap-2 text-body font-semibold">
        <FlaskConical size={17} aria-hidden className="text-held" /> {t.start.sampleTitle}
      </h2>
      <p className="text-table text-ink2">
        {!isAllowed ? t.start.sampleNone : isOpen ? t.start.sampleOpen : t.start.sampleText}
      </p>
      {isAllowed && !isOpen && (
        <Button className="mt-3 w-full" busy={open.isPending} onClick={() => open.mutate()}>
          {t.start.sampleButton}
        </Button>
      )}
      <FormProblem error={open.error} />
    </Panel>
  );
}

/** The same calls as in the steps, which show the progress. */
function useOpenSample() {
  const { organization } = useWorkplace();
  const zone = useZone();
  const queries = useQueryClient();
  return useMutation<void, HoldfastError>({
    mutationFn: async () => {
      const client = clientFor(organization.id);
      const show = () => queries.invalidateQueries();
      const { data: places } = await client.listStorageDestinations({ query: { limit: 200 } });
      if (!places.some(({ status }) => status === 'connected'))
        await client.createStorageDestination({
          body: { name: t.start.sampleFolder, type: 'local', path: 'sample', isDefault: true },
        });
      const { id: projectId } = await client.createProject({
        body: { name: t.start.sampleName, ...source, settings: { writeRampUp: false } },
      });
      void show();
      await client.createBackup({ body: { projectId } });
      await client.createSchedule({ body: requestOf(usualDraft(projectId, zone)) });
      await show();
    },
  });
}
