import { minuteMs } from '@holdfast/contract';
import { useRead } from '../../api/calls.ts';
import type { LinePoint } from '../../components/line/marks.tsx';
import { TimeLine } from '../../components/line/time-line.tsx';
import { useNow } from '../../components/time.tsx';
import { useIsPhone } from '../../components/use-is-phone.ts';
import { t } from '../../texts/index.ts';
import type { Version } from './use-versions.ts';

interface VersionLineProps {
  projectId: string;
  versions: readonly Version[];
  then: Version | undefined;
  /** When the live document was read; undefined while unknown. */
  readAtMs: number | undefined;
}

/** The versions on the line of time, with the captured bands. */
export function VersionLine({ projectId, versions, then, readAtMs }: VersionLineProps) {
  const project = useRead('getProject', { params: { projectId } }, { everyMs: false });
  const { coveredFrom, coveredTo, gaps } = project.data?.pitr ?? { coveredFrom: null, coveredTo: null, gaps: [] };
  const times = versions.map(({ at }) => Date.parse(at));
  const oldest = Math.min(...times);
  // The page's clock has coarse steps: a version is never in the future.
  const newest = Math.max(useNow(), readAtMs ?? 0, ...times);
  const beforeMs = Math.max(minuteMs, (newest - oldest) * 0.05);
  // The future only needs room for a label.
  const afterMs = (newest - oldest + beforeMs) * (useIsPhone() ? 0.14 : 0.04);
  const kindOf = (version: Version) => (version === then ? 'then' : 'version');
  const points = versions.map(
    (version): LinePoint => ({ id: version.id, atMs: Date.parse(version.at), kind: kindOf(version) }),
  );
  if (readAtMs !== undefined) points.push({ id: 'now', atMs: readAtMs, kind: 'now' });
  const bands =
    coveredFrom && coveredTo
      ? [
          { kind: 'any' as const, fromMs: Date.parse(coveredFrom), toMs: Date.parse(coveredTo) },
          ...gaps.map((gap) => ({ kind: 'gap' as const, fromMs: Date.parse(gap.from), toMs: Date.parse(gap.to) })),
        ]
      : [];
  return (
    <div className="border-line border-b px-5 py-2">
      <TimeLine
        label={t.document.lineLabel(versions.length)}
        fromMs={oldest - beforeMs}
        toMs={newest + afterMs}
        nowMs={newest}
        // The two compared versions are drawn on top.
        points={points.sort((a, b) => Number(a.kind !== 'version') - Number(b.kind !== 'version'))}
        bands={bands}
      />
    </div>
  );
}
