import { Link2, Link2Off } from 'lucide-react';
import { useRead } from '../../api/calls.ts';
import { useZone } from '../../api/organization.tsx';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Box } from '../../components/list.tsx';
import { Problem } from '../../components/states.tsx';
import { useNow } from '../../components/time.tsx';
import { byServiceClock } from '../../format/service-clock.ts';
import { formatAge, formatDateTime } from '../../format/times.ts';
import { t } from '../../texts/index.ts';

/** Whether the log is complete and unchanged, and the hash to keep elsewhere as a proof. */
export function ChainVerdict() {
  const chain = useRead('verifyAuditLogs', {}, { everyMs: false });
  // Of the whole log, whatever the filters below.
  const newestHash = useRead('listAuditLogs', { query: { limit: 1 } }).data?.data[0]?.hash;
  const zone = useZone();
  const now = useNow();
  if (chain.error)
    return (
      <Box>
        <Problem error={chain.error} onRetry={() => void chain.refetch()} />
      </Box>
    );
  if (!chain.data) return null;
  const { valid, entries, from, brokenAt } = chain.data;
  const Icon = valid ? Link2 : Link2Off;
  return (
    <section
      className={`flex flex-wrap items-center gap-x-5 gap-y-3 rounded-panel border px-5 py-3.5 ${valid ? 'border-held-mark bg-held-weak' : 'border-fail bg-fail-weak'}`}
    >
      <Icon size={18} aria-hidden className={valid ? 'text-held' : 'text-fail'} />
      <div className="min-w-0 flex-1">
        <h2 className="text-table font-semibold">{valid ? t.audit.whole : t.audit.broken}</h2>
        <p className="text-table text-ink2">
          {valid ? from && t.audit.wholeText(entries, formatDateTime(from, zone)) : t.audit.brokenText(brokenAt ?? '')}{' '}
          {t.audit.checkedAt(formatAge(byServiceClock(chain.dataUpdatedAt), zone, now))}
        </p>
      </div>
      {newestHash && (
        <div className="text-right text-table max-lg:hidden">
          <p className="inline-flex items-center gap-2">
            {t.audit.newest}
            <code className="font-mono">
              {newestHash.slice(0, 8)} {newestHash.slice(8, 12)}…
            </code>
            <CopyButton text={newestHash} />
          </p>
          <p className="text-meta text-ink2">{t.audit.keepElsewhere}</p>
        </div>
      )}
      <Button busy={chain.isFetching} onClick={() => void chain.refetch()}>
        {t.audit.checkAgain}
      </Button>
    </section>
  );
}
