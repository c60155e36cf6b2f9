import { t } from '../../texts/index.ts';

interface MarksProps {
  attempts: number;
  status: 'pending' | 'delivered' | 'failed';
}

const shown = 5;

/** Five marks: dot delivered, cross failed, dashed ring due. */
export function AttemptMarks({ attempts, status }: MarksProps) {
  const failed = status === 'delivered' ? attempts - 1 : attempts;
  const count = Math.max(shown, attempts);
  const label = t.webhooks.deliveries.attemptsLabel(attempts, t.webhooks.deliveries.status[status]);
  return (
    <svg role="img" aria-label={label} width={count * 11} height="12" viewBox={`0 0 ${count * 11} 12`}>
      {Array.from({ length: count }, (_, index) => {
        const x = index * 11 + 5.5;
        if (index < failed)
          return <path key={index} d={`M${x - 3} 3l6 6m0-6l-6 6`} className="stroke-fail-mark" strokeWidth="2" />;
        if (index < attempts) return <circle key={`${x}`} cx={x} cy="6" r="4" className="fill-held" />;
        if (index === attempts && status === 'pending')
          return (
            <circle
              key={`${x}`}
              cx={x}
              cy="6"
              r="3.6"
              fill="none"
              className="stroke-risk-mark"
              strokeWidth="1.6"
              strokeDasharray="2 1.6"
            />
          );
        return <circle key={`${x}`} cx={x} cy="6" r="1.2" className="fill-control" />;
      })}
    </svg>
  );
}
