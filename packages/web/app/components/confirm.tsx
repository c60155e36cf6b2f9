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
  /** Must be typed exactly to enable the button. */
  typed?: string;
  /** Disables the button. */
  disabled?: boolean;
  busy?: boolean;
  error?: HoldfastError | null;
  /** Label of the button that closes; absent: Cancel. Null: no such button. */
  cancel?: string | null;
  onConfirm: () => void;
  onClose: () => void;
}

/** A dialog that says what will happen and repeats it on its button. */
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
