import type { Schedule } from '@holdfast/contract';
import { useAll } from '../../api/calls.ts';
import { TextLink } from '../../components/button.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { useProjectNames } from '../restores/shared.tsx';
import { beyondWords } from './beyond-words.ts';
import { draftOf } from './draft.ts';
import { rhythmWords } from './rhythm-words.ts';

/** The settings, for people who may not change them; what is kept and the next run stand above them. */
export function ScheduleFacts({ schedule }: { schedule: Schedule }) {
  const nameOf = useProjectNames();
  const paths = usePaths();
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const placeOf = (place: string) => destinations.find(({ id }) => id === place)?.name ?? place;
  const beyond = beyondWords(schedule, placeOf);
  const { fullEvery, collections } = draftOf(schedule);
  const { columns, fields } = t.schedules;
  return (
    <Panel>
      <Facts
        rows={[
          [
            columns.project,
            <TextLink key="p" to={paths.project(schedule.projectId)}>
              {nameOf(schedule.projectId)}
            </TextLink>,
          ],
          [columns.when, `${rhythmWords(schedule.cron)}, ${schedule.timezone}`],
          [fields.full, t.schedules.every(fullEvery)],
          [fields.collections, collections || t.schedules.allCollections],
          [
            fields.destination,
            schedule.storageDestinationId === null
              ? t.schedules.defaultStorage
              : placeOf(schedule.storageDestinationId),
          ],
          beyond !== '' && ['', beyond],
        ]}
      />
    </Panel>
  );
}
