import { TriangleAlert } from 'lucide-react';
import { useRead } from '../../api/calls.ts';
import { Problem, Skeleton } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';
import { ProviderButton } from './provider-button.tsx';

export function Page() {
  const methods = useRead('getSignInMethods', {}, { everyMs: false });
  const [search] = useSearch();
  return (
    <Frame title={t.signIn.title}>
      {search.ended && <p className="text-ink2">{t.signIn.ended}</p>}
      {search.problem && <Refused code={search.problem} reason={search.reason} />}
      {methods.isLoading && <Skeleton rows={1} />}
      {methods.error && <Problem error={methods.error} onRetry={() => void methods.refetch()} />}
      {methods.data?.provider && <ProviderButton provider={methods.data.provider} />}
      {methods.data && !methods.data.provider && <LocalHint />}
    </Frame>
  );
}

/** Why nobody got in, and what to do about it. */
function Refused({ code, reason }: { code: string; reason: string | undefined }) {
  const { refused } = t.signIn;
  const [title, advice] = refused[reason as keyof typeof refused] ?? refused.failed;
  return (
    <div role="alert" className="flex gap-3 rounded-control bg-risk-weak px-3 py-2.5 text-table">
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-risk" />
      <div>
        <p className="font-medium">{title}</p>
        <p className="text-ink2">{advice}</p>
        <p className="mt-1 font-mono text-meta text-ink2">{code}</p>
      </div>
    </div>
  );
}

function LocalHint() {
  return (
    <>
      <p className="text-ink2">{t.signIn.noProvider}</p>
      <p className="text-table text-ink3">
        {t.signIn.terminal} <code className="font-mono text-ink2">holdfast login</code>.
      </p>
    </>
  );
}
