import { Id } from '../../components/copy.tsx';
import { Facts, Panel } from '../../components/panel.tsx';
import { Time } from '../../components/time.tsx';
import { t } from '../../texts/index.ts';
import type { Destination } from './storage-form.tsx';

/** The place of a destination, and how it protects its objects. */
export function DestinationFacts({ destination }: { destination: Destination }) {
  const { bucket, path, region, endpoint, prefix, objectLock, lastTest } = destination;
  const { facts } = t.storage;
  const code = (text: string) => <code className="font-mono">{text}</code>;
  const isBucket = destination.type !== 'local';
  const keeps = lastTest?.keepsVersions ?? null;
  return (
    <Panel className="lg:w-[360px]">
      <Facts
        rows={[
          bucket !== null && [facts.bucket, code(bucket)],
          path !== null && [facts.path, code(path)],
          region !== null && [facts.region, region],
          endpoint !== null && [facts.endpoint, endpoint],
          prefix !== '' && [facts.prefix, prefix],
          isBucket && [facts.lock, objectLock ? t.storage.lockFact(objectLock.days, objectLock.mode) : facts.noLock],
          isBucket && [
            facts.versions,
            keeps === null ? facts.versionsUnknown : keeps ? facts.versionsKept : facts.versionsNotKept,
          ],
          destination.lastCheckedAt !== null && [
            facts.checked,
            <Time key="c" at={destination.lastCheckedAt} as="age" />,
          ],
          [facts.id, <Id key="i" id={destination.id} />],
        ]}
      />
    </Panel>
  );
}
