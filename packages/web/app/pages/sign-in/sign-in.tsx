import { useRead } from '../../api/calls.ts';
import { Problem, Skeleton } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';
import { ProviderButton } from './provider-button.tsx';
import { Warning } from './warning.tsx';

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

/** Why signing in failed, and what to do. */
function Refused({ code, reason }: { code: string; reason: string | undefined }) {
  const { refused } = t.signIn;
  const [title, advice] = refused[reason as keyof typeof refused] ?? refused.failed;
  return <Warning title={title} text={advice} code={code} />;
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
