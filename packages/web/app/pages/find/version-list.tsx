import type { HoldfastError } from '@holdfast/contract/client';
import { useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { useSeen } from '../../components/use-seen.ts';
import { formatClock, formatDay, formatWeekday } from '../../format/times.ts';
import { t } from '../../texts/index.ts';
import { useChange } from './use-change.ts';
import type { Version } from './use-versions.ts';

/** Loads older versions. */
export interface OlderVersions {
  hasMore: boolean;
  isLoadingMore: boolean;
  error: HoldfastError | null;
  loadMore: () => void;
}

interface VersionListProps {
  projectId: string;
  path: string;
  versions: readonly Version[];
  older: OlderVersions;
  then: Version | undefined;
  live: LiveState;
  onThen: (id: string) => void;
}

/** The live document: its read time, loading, or unreadable. */
export interface LiveState {
  readonly readAtMs: number | undefined;
  readonly isThere: boolean;
  readonly isUnknown: boolean;
}

/** Versions, newest first; the one to restore is teal. */
export function VersionList({ projectId, path, versions, older, then, live, onThen }: VersionListProps) {
  return (
    <>
      <div className="flex justify-between px-4 pt-4 pb-2 text-table">
        <h2 className="font-semibold">{t.document.versions}</h2>
        <span className="text-meta text-ink3">{t.document.captured(versions.length)}</span>
      </div>
      <LiveRow live={live} />
      <ol>
        {versions.map((version, index) => (
          <li key={version.id}>
            <VersionButton
              projectId={projectId}
              path={path}
              version={version}
              before={versions[index + 1] ?? (older.hasMore ? undefined : null)}
              isThen={version === then}
              isLast={index === versions.length - 1}
              onThen={onThen}
            />
          </li>
        ))}
      </ol>
      {older.hasMore && (
        <div className="px-4 py-2">
          <Button kind="quiet" busy={older.isLoadingMore} onClick={older.loadMore}>
            {t.document.older}
          </Button>
        </div>
      )}
    </>
  );
}

function LiveRow({ live: { readAtMs, isThere, isUnknown } }: { live: LiveState }) {
  const zone = useZone();
  if (readAtMs === undefined && !isUnknown) return null;
  const isRead = !isUnknown && readAtMs !== undefined;
  return (
    <p className="relative flex gap-3 px-4 py-2.5 text-table" data-live={isUnknown ? 'unknown' : isThere}>
      <span
        aria-hidden="true"
        className="absolute top-6 -bottom-3 left-[21px] border-control border-l-2 border-dotted"
      />
      <span
        aria-hidden="true"
        className={`z-10 mt-1.5 size-3 shrink-0 rounded-full border-2 ${isRead && isThere ? 'border-ink bg-ink' : 'border-control bg-surface'}`}
      />
      <span className="min-w-0 flex-1">
        <b className="font-semibold">{t.document.live}</b>{' '}
        {isRead ? (
          <span className="text-ink2">
            {t.document.readAt(formatClock(readAtMs, zone))}
            {!isThere && `, ${t.document.notThere}`}
          </span>
        ) : (
          <span className="text-fail">{t.document.notRead}</span>
        )}
      </span>
      {isRead && (
        <span className="self-start rounded-tag bg-ink px-1.5 text-meta font-medium text-on-ink">{t.document.now}</span>
      )}
    </p>
  );
}

interface VersionButtonProps {
  projectId: string;
  path: string;
  version: Version;
  before: Version | null | undefined;
  isThen: boolean;
  isLast: boolean;
  onThen: (id: string) => void;
}

function VersionButton({ projectId, path, version, before, isThen, isLast, onThen }: VersionButtonProps) {
  const zone = useZone();
  const [ref, isWanted] = useSeen();
  const words = useChange({ projectId, path, version, before, isWanted });
  return (
    <button
      ref={ref}
      type="button"
      aria-pressed={isThen}
      onClick={() => onThen(version.id)}
      className={`relative flex w-full gap-3 px-4 py-2.5 text-left ${isThen ? 'bg-held-weak' : 'hover:bg-bg'}`}
    >
      {!isLast && <span aria-hidden="true" className="absolute top-6 -bottom-3 left-[21px] w-0.5 bg-held-mark" />}
      <span
        aria-hidden="true"
        className={`z-10 mt-1.5 size-3 shrink-0 rounded-full border-2 ${isThen ? 'border-held bg-held' : 'border-held-mark bg-surface'}`}
      />
      <span className="min-w-0 flex-1 text-table">
        <span className="flex items-center gap-2">
          <b className="font-semibold">
            {version.change === 'deleted'
              ? t.document.by(formatClock(version.at, zone))
              : formatClock(version.at, zone)}
          </b>
          <span className="whitespace-nowrap text-ink2">
            <span className="max-xl:hidden">{formatWeekday(version.at, zone)}</span> {formatDay(version.at, zone)}
          </span>
          {isThen && (
            <span className="ml-auto rounded-tag bg-held px-1.5 text-meta font-medium text-surface">
              {t.document.then}
            </span>
          )}
        </span>
        <span className="block break-words text-ink2">
          {words ?? t.document.change[version.change]} · {sourceWords(version)}
        </span>
      </span>
    </button>
  );
}

/** The source of a version; for captured and live ones also whether a backup holds it. */
function sourceWords({ source, heldBy }: Version): string {
  const known = t.document.source[source];
  return source !== 'backup' && heldBy !== null ? `${known} · ${t.document.source.backup}` : known;
}
