import type { HoldfastError } from '@holdfast/contract/client';
import { type ReactNode, useState } from 'react';
import { t } from '../texts/index.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Field, TextInput } from './field.tsx';
import { FormProblem } from './states.tsx';

interface ConfirmProps {
  title: string;
  children: ReactNode;
  action: string;
  danger?: boolean;
  /** To be typed exactly before the button works. */
  typed?: string;
  /** There is nothing to confirm yet. */
  disabled?: boolean;
  busy?: boolean;
  error?: HoldfastError | null;
  /** The button that does nothing; absent: Cancel. Null: there is nothing to decide. */
  cancel?: string | null;
  onConfirm: () => void;
  onClose: () => void;
}

/** Says what will happen, and names it on the button. */
export function Confirm(props: ConfirmProps) {
  const {
    title,
    children,
    action,
    danger,
    typed,
    disabled = false,
    busy = false,
    error = null,
    onConfirm,
    onClose,
  } = props;
  const [text, setText] = useState('');
  const isReady = !disabled && (typed === undefined || text === typed);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          {props.cancel !== null && <Button onClick={onClose}>{props.cancel ?? t.common.cancel}</Button>}
          <Button kind={danger ? 'danger' : 'primary'} busy={busy} disabled={!isReady} onClick={onConfirm}>
            {action}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-2 text-body text-ink2">{children}</div>
      {typed !== undefined && (
        <Field
          label={
            <>
              {t.common.typeToConfirm} <code className="rounded-tag bg-fail-weak px-1 font-mono text-ink">{typed}</code>
            </>
          }
        >
          <TextInput mono value={text} onChange={(event) => setText(event.target.value)} />
        </Field>
      )}
      <FormProblem error={error} />
    </Dialog>
  );
}
