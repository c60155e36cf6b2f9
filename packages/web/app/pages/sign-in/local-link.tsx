import { LogIn } from 'lucide-react';
import { useAct, useRead } from '../../api/calls.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { Problem } from '../../components/states.tsx';
import { t } from '../../texts/index.ts';
import { useGo, useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';
import { takeNext } from './next.ts';

/** Opening the link does not use it, because previews and scanners open links too. The button does. */
export function Page() {
  const [{ token = '' }] = useSearch();
  const go = useGo();
  const signIn = useAct('signInWithLink', { onDone: () => go(takeNext() ?? '/', { replace: true }) });
  if (signIn.error?.code === 'UNAUTHORIZED') return <Used />;
  return (
    <Frame title={t.signIn.localTitle}>
      <p className="text-ink2">{t.signIn.localText}</p>
      <Button
        kind="primary"
        icon={LogIn}
        busy={signIn.isPending || signIn.isSuccess}
        disabled={token === ''}
        onClick={() => signIn.mutate({ body: { token } })}
        className="w-full"
      >
        {t.signIn.localButton}
      </Button>
      {signIn.error && <Problem error={signIn.error} />}
      <p className="text-table text-ink3">
        {t.signIn.terminal} <code className="font-mono text-ink2">holdfast login</code>.
      </p>
    </Frame>
  );
}

/** In the browser that it signed in, a used link just leads on. */
function Used() {
  const me = useRead('getMe', {}, { everyMs: false });
  return (
    <Frame title={t.signIn.localUsed}>
      <p className="text-ink2">{me.data ? t.signIn.signedInAlready(me.data.email) : t.signIn.localUsedAdvice}</p>
      {me.data && (
        <LinkButton kind="primary" to="/">
          {t.common.goToOverview}
        </LinkButton>
      )}
    </Frame>
  );
}
