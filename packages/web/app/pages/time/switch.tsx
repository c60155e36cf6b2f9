import type { PitrWindow } from '@holdfast/contract';
import { type FormEvent, useState } from 'react';
import { useAct, useAll } from '../../api/calls.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { FormButtons } from '../../components/form-buttons.tsx';
import { useLeaveQuestion } from '../../components/leave-question.tsx';
import { FormProblem } from '../../components/states.tsx';
import { fieldErrors } from '../../texts/errors.ts';
import { t } from '../../texts/index.ts';
import { useSearch } from '../../url.ts';
import { DestinationField } from '../storage/destination-field.tsx';

export function Disable({ projectId }: { projectId: string }) {
  const [isAsking, setAsking] = useState(false);
  const disable = useAct('disablePitr', { onDone: () => setAsking(false) });
  return (
    <>
      <Button onClick={() => setAsking(true)}>{t.time.disableAsk}</Button>
      {isAsking && (
        <Confirm
          title={t.time.disableTitle}
          action={t.time.disable}
          danger
          busy={disable.isPending}
          error={disable.error}
          onClose={() => setAsking(false)}
          onConfirm={() => disable.mutate({ params: { projectId } })}
        >
          <p>{t.time.disableText}</p>
        </Confirm>
      )}
    </>
  );
}

interface EnableProps {
  projectId: string;
  pitr: PitrWindow;
}

export function Enable({ projectId, pitr }: EnableProps) {
  const [search, setSearch] = useSearch();
  const close = () => void setSearch({ enable: undefined }, { replace: true });
  return (
    <>
      <Button kind="primary" onClick={() => setSearch({ enable: '1' })}>
        {t.time.enableAsk}
      </Button>
      {search.enable && <EnableDialog projectId={projectId} pitr={pitr} onClose={close} />}
    </>
  );
}

const usualDays = 7;
const daysMax = 35;

/** Asks for retention and destination. Earlier captured changes stay where they are. */
function EnableDialog({ projectId, pitr, onClose }: EnableProps & { onClose: () => void }) {
  const [days, setDays] = useState(String(pitr.retentionDays ?? usualDays));
  const [destination, setDestination] = useState('');
  const destinations = useAll('listStorageDestinations', {}).rows ?? [];
  const { question, keep } = useLeaveQuestion({ days, destination });
  const enable = useAct('enablePitr', {
    onDone: () => {
      keep({ days, destination });
      onClose();
    },
  });
  const faults = fieldErrors(enable.error, ['retentionDays', 'storageDestinationId']);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    enable.mutate({
      params: { projectId },
      body: { retentionDays: Number(days), ...(destination ? { storageDestinationId: destination } : {}) },
    });
  };
  return (
    <Dialog title={t.time.enableTitle} onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        <p className="text-ink2">{t.time.enableText}</p>
        <Field label={t.time.days} hint={t.time.daysHint} name="retentionDays" error={faults.retentionDays}>
          <TextInput
            type="number"
            required
            min={1}
            max={daysMax}
            value={days}
            onChange={(event) => setDays(event.target.value)}
          />
        </Field>
        {pitr.storageDestinationId === null && (
          <DestinationField
            of={destinations}
            value={destination}
            onChange={setDestination}
            error={faults.storageDestinationId}
          />
        )}
        {enable.error && Object.keys(faults).length === 0 && <FormProblem error={enable.error} />}
        <FormButtons action={t.time.enable} busy={enable.isPending} onCancel={onClose} />
      </form>
      {question}
    </Dialog>
  );
}
