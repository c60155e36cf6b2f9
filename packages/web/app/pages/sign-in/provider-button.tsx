import { type DataOf, type Operations, pathOf } from '@holdfast/contract';
import { LogIn } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { t } from '../../texts/index.ts';
import { rememberNext } from './next.ts';

type Provider = NonNullable<DataOf<Operations['getSignInMethods']>['provider']>;

/** Asks the provider for identity only; access to projects is asked for when one is connected. */
export function ProviderButton({ provider, next }: { provider: Provider; next?: string }) {
  const begin = () => {
    if (next) rememberNext(next);
    window.location.assign(`${pathOf('startSignIn')}?scope=identity`);
  };
  return (
    <Button kind="primary" icon={LogIn} onClick={begin} className="w-full">
      {provider.kind === 'google' ? t.signIn.google : t.signIn.other(provider.host)}
    </Button>
  );
}
