import { LogOut } from 'lucide-react';
import { useEffect } from 'react';
import { Mark } from '../../components/brand.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { useSignOut } from '../../shell/sign-out.ts';
import { t } from '../../texts/index.ts';
import { PersonPanels } from './person.tsx';

/** Also for a person without an organization. */
export function Page() {
  const signOut = useSignOut();
  useEffect(() => {
    document.title = `${t.account.title} · ${t.common.product}`;
  }, []);
  return (
    <main className="mx-auto flex max-w-3xl flex-col gap-5 px-4 py-8">
      <header className="flex items-center gap-3">
        <Mark size={26} />
        <h1 className="text-page font-semibold">{t.account.title}</h1>
        <span className="ml-auto flex gap-2">
          <LinkButton to="/">{t.account.back}</LinkButton>
          <Button icon={LogOut} busy={signOut.isPending} onClick={() => signOut.mutate()}>
            {t.account.signOut}
          </Button>
        </span>
      </header>
      <PersonPanels />
    </main>
  );
}
