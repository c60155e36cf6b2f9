interface ScaleProps {
  top: number;
  format: (value: number) => string;
}

/** The labels of a chart's grid lines: maximum, half and zero. */
export function Scale({ top, format }: ScaleProps) {
  return (
    <div aria-hidden="true" className="flex shrink-0 flex-col justify-between text-right text-ink3 text-meta">
      {[top, top / 2, 0].map((value) => (
        <span key={value}>{value === 0 ? '0' : format(value)}</span>
      ))}
    </div>
  );
}
