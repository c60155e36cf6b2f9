import { TriangleAlert } from 'lucide-react';
import { TextLink } from '../../components/button.tsx';
import { shortenId } from '../../format/numbers.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import type { Unreadable } from './use-versions.ts';

const shownMax = 3;

/** Names backups that could not be read, so that versions may be missing. */
export function UnreadableNote({ of }: { of: readonly Unreadable[] }) {
  const paths = usePaths();
  if (of.length === 0) return null;
  return (
    <section className="flex gap-2 border-line border-t bg-risk-weak px-4 py-3 text-meta" data-unreadable={of.length}>
      <TriangleAlert size={15} aria-hidden className="mt-px shrink-0 text-risk" />
      <div className="min-w-0">
        <p>{t.document.unreadable(of.length)}</p>
        <ul>
          {of.slice(0, shownMax).map(({ backupId, code, message }) => (
            <li key={backupId} title={message} className="break-words">
              {backupId === null ? (
                t.document.unreadableLog
              ) : (
                <TextLink to={paths.backup(backupId)}>{shortenId(backupId)}</TextLink>
              )}{' '}
              <code className="font-mono text-ink2">{code}</code>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
