import type { AuditEntry } from '@holdfast/contract';
import { Link2 } from 'lucide-react';
import { TextLink } from '../../components/button.tsx';
import { CopyButton, Id } from '../../components/copy.tsx';
import { Facts } from '../../components/panel.tsx';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';
import { pathOf } from './subject.ts';

export function AuditDetail({ entry }: { entry: AuditEntry }) {
  const to = pathOf(entry.resource, usePaths());
  const details = Object.entries(entry.details).map(
    ([name, value]) =>
      [
        name,
        <code key={name} className="break-all font-mono text-meta">
          {typeof value === 'string' ? value : JSON.stringify(value)}
        </code>,
      ] as const,
  );
  return (
    <div className="grid gap-6 border-held border-l-2 px-5 py-4 md:grid-cols-[1fr_300px]">
      <Facts
        rows={[
          ...details,
          entry.resource.id !== null && [
            t.audit.facts.resource,
            to ? (
              <TextLink key="r" to={to} className="font-mono text-meta">
                {entry.resource.id}
              </TextLink>
            ) : (
              <Id key="r" id={entry.resource.id} keep={30} />
            ),
          ],
          entry.context.userAgent !== null && [t.audit.facts.client, entry.context.userAgent],
          entry.requestId !== null && [t.audit.facts.request, <Id key="q" id={entry.requestId} keep={30} />],
          [t.audit.facts.id, <Id key="i" id={entry.id} keep={30} />],
        ]}
      />
      <div className="text-table">
        <p className="flex items-center gap-2 font-medium">
          <Link2 size={15} aria-hidden className="text-held" /> {t.audit.chainPlace}
        </p>
        <p className="mt-2 flex items-center gap-2">
          {t.audit.thisEntry}
          <code className="font-mono text-meta">
            {entry.hash.slice(0, 8)} {entry.hash.slice(8, 12)}…
          </code>
          <CopyButton text={entry.hash} />
        </p>
        <p className="mt-1 text-meta text-ink3">{t.audit.hashHint}</p>
      </div>
    </div>
  );
}
