import type { DataOf, Operations } from '@holdfast/contract';
import { useEffect } from 'react';
import { useAct, useAll, useRead } from '../../api/calls.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { Problem, Skeleton } from '../../components/states.tsx';
import { pathsOf } from '../../paths.ts';
import { t } from '../../texts/index.ts';
import { useGo, useSearch } from '../../url.ts';
import { Frame } from './frame.tsx';
import { ProviderButton } from './provider-button.tsx';
import { Warning } from './warning.tsx';

type Invitation = DataOf<Operations['showInvitation']>;

export function Page() {
  const [{ token = '' }] = useSearch();
  const me = useRead('getMe', {}, { everyMs: false });
  const { mutate: show, ...shown } = useAct('showInvitation');
  useEffect(() => {
    if (token !== '') show({ body: { token } });
  }, [token, show]);
  const invitation = shown.data;
  if (token === '')
    return (
      <Frame title={t.invitation.title}>
        <p className="text-ink2">{t.invitation.noToken}</p>
      </Frame>
    );
  if (shown.error)
    return (
      <Frame title={t.invitation.title}>
        <Problem
          error={shown.error}
          onRetry={() => show({ body: { token } })}
          action={
            me.data ? (
              <LinkButton to="/">{t.common.goToOverview}</LinkButton>
            ) : (
              me.error?.status === 401 && <LinkButton to="/sign-in">{t.signIn.title}</LinkButton>
            )
          }
        />
      </Frame>
    );
  return (
    <Frame title={invitation ? t.invitation.joinTitle(invitation.organization.name) : t.invitation.title}>
      {(!invitation || me.isLoading) && <Skeleton rows={1} />}
      {invitation && (
        <div className="text-ink2">
          <p>{t.invitation.text(invitation.invitedBy.email, t.roles[invitation.role])}</p>
          <p>
            {t.roleMeanings[invitation.role]} {t.invitation.leave}
          </p>
        </div>
      )}
      {invitation && me.data && <Accept token={token} email={me.data.email} invitation={invitation} />}
      {invitation &&
        me.error &&
        (me.error.status === 401 ? (
          <SignInFirst token={token} email={invitation.email} />
        ) : (
          <Problem error={me.error} />
        ))}
    </Frame>
  );
}

function SignInFirst({ token, email }: { token: string; email: string }) {
  const methods = useRead('getSignInMethods', {}, { everyMs: false });
  // The printed link signs in the owner, not an invited person.
  if (methods.data && !methods.data.provider)
    return <Warning title={t.invitation.nobodyYet} text={t.invitation.nobodyYetText} />;
  return (
    <>
      <p>{t.invitation.signInFirst(email)}</p>
      {methods.data?.provider && (
        <ProviderButton
          provider={methods.data.provider}
          next={`/invitations/accept?token=${encodeURIComponent(token)}`}
        />
      )}
    </>
  );
}

/** A person signed in with another e-mail is told before they try. */
function Accept({ token, email, invitation }: { token: string; email: string; invitation: Invitation }) {
  const go = useGo();
  const accept = useAct('acceptInvitation', {
    onDone: (joined) => go(pathsOf(joined.organization.slug).overview, { replace: true }),
  });
  if (email.toLowerCase() !== invitation.email.toLowerCase())
    return (
      <>
        <p role="alert">{t.invitation.wrongEmail(email, invitation.email)}</p>
        <SignInFirst token={token} email={invitation.email} />
      </>
    );
  if (accept.error?.code === 'ALREADY_MEMBER') return <Already name={invitation.organization.name} />;
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
      {accept.error && <Problem error={accept.error} />}
    </>
  );
}

/** The invitation has only the name of its organization; if several have it, the start page lets the person choose. */
function Already({ name }: { name: string }) {
  const organizations = useAll('listOrganizations', {}, { everyMs: false }).rows ?? [];
  const [own, another] = organizations.filter((organization) => organization.name === name);
  return (
    <>
      <p role="alert">{t.invitation.already(name)}</p>
      <LinkButton kind="primary" to={own && !another ? pathsOf(own.slug).overview : '/'}>
        {t.invitation.open(name)}
      </LinkButton>
    </>
  );
}
