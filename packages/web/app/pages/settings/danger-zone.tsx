import { useState } from 'react';
import { useAct } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Panel } from '../../components/panel.tsx';
import { recoverPath } from '../../paths.ts';
import { t } from '../../texts/index.ts';
import { useGo } from '../../url.ts';
import type { OrganizationDetail } from './general.tsx';

export function DangerZone({ organization }: { organization: OrganizationDetail }) {
  const [isAsking, setAsking] = useState(false);
  const [force, setForce] = useState(false);
  const go = useGo();
  const remove = useAct('deleteOrganization', {
    onDone: () => go(force ? '/' : recoverPath(organization.id), { replace: true }),
  });
  const words = t.settings.danger;
  return (
    <Panel title={words.title} tone="fail">
      <div className="flex flex-col items-start gap-3">
        <p className="text-table text-ink2">{words.text}</p>
        <Button kind="danger" onClick={() => setAsking(true)}>
          {words.delete}
        </Button>
      </div>
      {isAsking && (
        <Confirm
          title={words.title}
          action={force ? words.deleteForGood : words.delete}
          danger
          typed={organization.name}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsking(false)}
          onConfirm={() => remove.mutate({ body: { confirmName: organization.name, force } })}
        >
          <p>{force ? words.forceText : words.text}</p>
          <Checkbox label={words.force} checked={force} onChange={(event) => setForce(event.target.checked)} />
        </Confirm>
      )}
    </Panel>
  );
}
