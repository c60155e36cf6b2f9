import { useAct, useAll } from '../../api/calls.ts';
import { useCan } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { Panel } from '../../components/panel.tsx';
import { FormProblem, Problem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import type { Destination } from './storage-form.tsx';
import { useWriters } from './use-writers.ts';

/** Shown while a destination does not work: what is wrong, what it means, what to do. */
export function BrokenDestination({ destination }: { destination: Destination }) {
  const canEdit = useCan('admin');
  const writers = useWriters(destination);
  const others = useAll('listStorageDestinations', {}).rows ?? [];
  const change = useAct('updateStorageDestination');
  const words = t.storage.away;
  const spare = others.find(({ id, status }) => id !== destination.id && status === 'connected');
  const names = [...new Set(writers.map(({ projectName }) => projectName).filter((name) => name !== null))];
  if (!destination.error) return null;
  return (
    <Panel tone="fail" flush>
      <Problem error={destination.error} />
      <div className="flex flex-col gap-3 border-line border-t px-4 py-3 text-table">
        <h2 className="text-body font-semibold">{words.title}</h2>
        <ul className="flex list-disc flex-col gap-1 pl-5 text-ink2">
          <li className="wrap-anywhere">
            {names.length > 0 ? words.writers(names.join(', '), names.length) : words.noWriters}
          </li>
          {destination.usage.backups > 0 && <li>{words.held(destination.usage.backups)}</li>}
          <li>{words.again}</li>
        </ul>
        {canEdit && destination.isDefault && spare && (
          <div>
            <Button
              busy={change.isPending}
              onClick={() => change.mutate({ params: { storageDestinationId: spare.id }, body: { isDefault: true } })}
            >
              {words.makeDefault(spare.name)}
            </Button>
          </div>
        )}
        <FormProblem error={change.error} />
      </div>
    </Panel>
  );
}
