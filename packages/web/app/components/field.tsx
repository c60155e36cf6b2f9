import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useContext,
  useEffect,
  useId,
  useRef,
} from 'react';

interface FieldIds {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
}
const FieldContext = createContext<FieldIds | null>(null);

interface FieldProps {
  label: ReactNode;
  /** Name in the request: faults the service reports for it are shown here. */
  name?: string;
  hint?: ReactNode;
  error?: string | undefined;
  children: ReactNode;
  className?: string;
}

/** When errors appear, focuses the first invalid field. */
export function useFocusOnError<Around extends HTMLElement>(error: string | undefined) {
  const around = useRef<Around>(null);
  useEffect(() => {
    const form = around.current?.closest('form, dialog, main');
    const first = error === undefined ? null : form?.querySelector<HTMLElement>('[aria-invalid=true]');
    if (!first || !around.current?.contains(first)) return;
    first.closest('details')?.setAttribute('open', '');
    first.focus();
  }, [error]);
  return around;
}

/** A label, its input, and the error. */
export function Field({ label, name, hint, error, children, className = '' }: FieldProps) {
  const id = useId();
  const around = useFocusOnError<HTMLDivElement>(error);
  const describedBy = error ? `${id}-error` : hint ? `${id}-hint` : undefined;
  return (
    <div ref={around} className={`flex flex-col gap-1 ${className}`} data-field={name}>
      <label htmlFor={id} className="text-table font-medium">
        {label}
      </label>
      <FieldContext value={{ id, describedBy, invalid: error !== undefined }}>{children}</FieldContext>
      {error ? (
        <p id={`${id}-error`} className="text-meta text-fail">
          {error}
        </p>
      ) : (
        hint && (
          <p id={`${id}-hint`} className="text-meta text-ink3">
            {hint}
          </p>
        )
      )}
    </div>
  );
}

function useFieldProps() {
  const field = useContext(FieldContext);
  if (!field) return {};
  return {
    id: field.id,
    ...(field.describedBy ? { 'aria-describedby': field.describedBy } : {}),
    ...(field.invalid ? { 'aria-invalid': true } : {}),
  };
}

type InputProps = InputHTMLAttributes<HTMLInputElement> & { mono?: boolean };

export function TextInput({ mono, className = '', ...rest }: InputProps) {
  return (
    <input
      autoComplete="off"
      spellCheck={false}
      {...useFieldProps()}
      {...rest}
      className={`control w-full aria-invalid:border-fail ${mono ? 'font-mono' : ''} ${className}`}
    />
  );
}

export function TextArea({ className = '', ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <textarea
      spellCheck={false}
      {...useFieldProps()}
      {...rest}
      className={`control h-auto! w-full py-2 font-mono aria-invalid:border-fail ${className}`}
    />
  );
}

/** A native input, so that phones and screen readers know it. */
export function SelectInput({ className = '', children, ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <select {...useFieldProps()} {...rest} className={`control chevron w-full aria-invalid:border-fail ${className}`}>
      {children}
    </select>
  );
}

/** One option for each thing that has a name, such as a project. */
export function NamedOptions({ of: things }: { of: readonly { id: string; name: string }[] }) {
  return things.map(({ id, name }) => (
    <option key={id} value={id}>
      {name}
    </option>
  ));
}

interface CheckboxProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> {
  label: ReactNode;
  hint?: ReactNode;
}

export function Checkbox({ label, hint, className = '', ...rest }: CheckboxProps) {
  const id = useId();
  return (
    <div className={`flex items-start gap-2 ${className}`}>
      <input id={id} type="checkbox" {...rest} className="mt-[3px] size-4 shrink-0 accent-held" />
      <label htmlFor={id} className="text-table">
        {label}
        {hint && <span className="block text-meta text-ink3">{hint}</span>}
      </label>
    </div>
  );
}

interface ChoiceProps<Value extends string> {
  label: string;
  name: string;
  value: Value;
  onChange: (value: Value) => void;
  choices: readonly { value: Value; title: string; detail?: string; icon?: ReactNode }[];
  columns?: string;
}

/** A few choices, each shown as a card. */
export function ChoiceCards<Value extends string>(props: ChoiceProps<Value>) {
  return (
    <fieldset>
      <legend className="sr-only">{props.label}</legend>
      <div className={`grid gap-2.5 ${props.columns ?? 'grid-cols-2 md:grid-cols-4'}`}>
        {props.choices.map((choice) => (
          <label
            key={choice.value}
            className="flex cursor-pointer gap-2.5 rounded-control border border-control bg-surface px-3 py-2.5 has-checked:border-held has-checked:bg-held-weak has-checked:ring-1 has-checked:ring-held has-focus-visible:outline-2 has-focus-visible:outline-held"
          >
            <input
              type="radio"
              className="sr-only"
              name={props.name}
              value={choice.value}
              checked={props.value === choice.value}
              onChange={() => props.onChange(choice.value)}
            />
            {choice.icon && <span className="mt-0.5 text-held">{choice.icon}</span>}
            <span className="min-w-0">
              <span className="block text-table font-medium">{choice.title}</span>
              {choice.detail && <span className="block text-meta text-ink2">{choice.detail}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
