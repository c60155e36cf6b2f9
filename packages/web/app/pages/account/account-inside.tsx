import { LogOut } from 'lucide-react';
import { Button } from '../../components/button.tsx';
import { PageFrame } from '../../shell/page.tsx';
import { useSignOut } from '../../shell/sign-out.ts';
import { t } from '../../texts/index.ts';
import { PersonPanels } from './person.tsx';

/** The same inside the shell of an organization. */
export function Page() {
  const signOut = useSignOut();
  return (
    <PageFrame
      title={t.account.title}
      crumbs={[{ label: t.account.title }]}
      actions={
        <Button icon={LogOut} busy={signOut.isPending} onClick={() => signOut.mutate()}>
          {t.account.signOut}
        </Button>
      }
    >
      <div className="flex max-w-3xl flex-col gap-5">
        <PersonPanels />
      </div>
    </PageFrame>
  );
}
