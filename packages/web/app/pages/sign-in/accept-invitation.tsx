import { useAct, useRead } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { pathsOf } from '../../paths.ts';
import { t } from '../../texts/index.ts';
import { useGo, useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';
import { ProviderButton } from './provider-button.tsx';

export function Page() {
  const [{ token = '' }] = useSearch();
  const me = useRead('getMe', {}, { everyMs: false });
  if (token === '')
    return (
      <Frame title={t.invitation.title}>
        <p className="text-ink2">{t.invitation.noToken}</p>
      </Frame>
    );
  return (
    <Frame title={t.invitation.title}>
      <p className="text-ink2">{t.invitation.text}</p>
      {me.isLoading && <Skeleton rows={1} />}
      {me.data && <Accept token={token} email={me.data.email} />}
      {me.error && (me.error.status === 401 ? <SignInFirst token={token} /> : <Problem error={me.error} />)}
    </Frame>
  );
}

function SignInFirst({ token }: { token: string }) {
  const methods = useRead('getSignInMethods', {}, { everyMs: false });
  return (
    <>
      <p className="text-ink2">{t.invitation.signInFirst}</p>
      {methods.data?.provider ? (
        <ProviderButton
          provider={methods.data.provider}
          next={`/invitations/accept?token=${encodeURIComponent(token)}`}
        />
      ) : (
        methods.data && <p className="text-ink2">{t.signIn.noProvider}</p>
      )}
    </>
  );
}

function Accept({ token, email }: { token: string; email: string }) {
  const go = useGo();
  const accept = useAct('acceptInvitation', {
    onDone: (joined) => go(pathsOf(joined.organization.slug).overview, { replace: true }),
  });
  const isWrongPerson = accept.error?.code === 'FORBIDDEN';
  return (
    <>
      <p className="text-table text-ink3">{t.signIn.signedInAs(email)}</p>
      <Button
        kind="primary"
        busy={accept.isPending || accept.isSuccess}
        onClick={() => accept.mutate({ body: { token } })}
        className="w-full"
      >
        {t.invitation.accept}
      </Button>
      {isWrongPerson && (
        <>
          <p role="alert">{t.invitation.wrongEmail(email)}</p>
          <SignInFirst token={token} />
        </>
      )}
      {accept.error && !isWrongPerson && <Problem error={accept.error} />}
    </>
  );
}
