import { resolve } from 'node:path';
import { z } from 'zod';

/** Variables whose values are never printed. */
const secretNames = new Set([
  'DATABASE_URL',
  'DATABASE_APP_URL',
  'REDIS_URL',
  'MASTER_KEY',
  'MASTER_KEYS_PREVIOUS',
  'OIDC_CLIENT_SECRET',
  'JWT_SECRET',
  'SMTP_URL',
  'METRICS_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
]);

const flag = z.stringbool({ truthy: ['true', '1', 'yes', 'on'], falsy: ['false', '0', 'no', 'off'] });
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);
const seconds = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const attempts = (usual: number) => z.coerce.number().int().min(1).max(100).default(usual);
const url = z.url();
const key32 = z.string().refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64');
const roleNames = ['api', 'worker', 'scheduler'] as const;

const json = z.string().transform((text, context) => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue({ code: 'custom', message: 'must be JSON' });
    return z.NEVER;
  }
});

const variables = z.object({
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8787)
    .describe('Port the service listens on; 0 picks a free one.'),
  HOST: z.string().min(1).default('127.0.0.1').describe('Address the service listens on.'),
  BASE_URL: url
    .optional()
    .describe(
      'Address that people, links in e-mails and the identity provider use. Default: derived from HOST and PORT.',
    ),
  HOLDFAST_DATA: z
    .string()
    .min(1)
    .default('.holdfast')
    .describe('Folder of everything the service keeps on disk: embedded database, keys, local backups.'),
  HOLDFAST_ROLES: list
    .pipe(z.array(z.enum(roleNames)).min(1))
    .default([...roleNames])
    .describe('Roles of this process, comma-separated: api, worker, scheduler.'),
  DATABASE_URL: url
    .optional()
    .describe(
      'PostgreSQL 14 or newer, as a role that may create roles and owns the database. Default: an embedded PostgreSQL in the data folder.',
    ),
  DATABASE_APP_URL: url
    .optional()
    .describe(
      'Login the running service uses, when the one in DATABASE_URL may not create roles. It must be a member of holdfast_tenant, holdfast_system and holdfast_queue, without inheriting them.',
    ),
  DATABASE_POOL_SIZE: z.coerce
    .number()
    .int()
    .min(2)
    .max(200)
    .default(16)
    .describe('Database connections this process may hold for requests and jobs.'),
  REDIS_URL: url.optional().describe('Optional Redis that shares rate limits between API processes.'),
  MASTER_KEY: key32
    .optional()
    .describe(
      'Master key, 32 bytes in base64. Default: a file with mode 0600 in the data folder, made on first start.',
    ),
  MASTER_KEYS_PREVIOUS: list
    .pipe(z.array(key32))
    .default([])
    .describe('Earlier master keys, comma-separated, still able to open what they sealed until it is sealed again.'),
  OIDC_ISSUER: url
    .optional()
    .describe("OpenID Connect issuer. Default: Google's, once OIDC_CLIENT_ID is set. http:// only on loopback."),
  OIDC_CLIENT_ID: z.string().min(1).optional().describe('Client id at the identity provider.'),
  OIDC_CLIENT_SECRET: z.string().min(1).optional().describe('Client secret at the identity provider.'),
  ALLOWED_REDIRECT_URIS: list
    .pipe(z.array(url))
    .default([])
    .describe('Addresses that `redirect_uri` of the sign-in may name, comma-separated.'),
  LOCAL_SIGN_IN: flag
    .default(false)
    .describe('Keep the local one-time sign-in link although an identity provider is configured.'),
  SIGN_UP_POLICY: z
    .enum(['invited', 'open'])
    .default('invited')
    .describe(
      'Who may sign up: with invited the first person, and afterwards people with an invitation or an address of SIGN_UP_DOMAINS; with open anyone the identity provider knows.',
    ),
  SIGN_UP_DOMAINS: list
    .transform((domains) => domains.map((domain) => domain.toLowerCase().replace(/^@/, '')))
    .default([])
    .describe(
      'Domains whose people may sign up without an invitation, by their verified e-mail address, comma-separated.',
    ),
  ORGANIZATIONS_PER_USER_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(20)
    .describe('Organizations one person may own.'),
  WEBHOOKS_PER_ORGANIZATION_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(50)
    .describe('Webhooks an organization may have.'),
  PLAN_CHANGES: z
    .enum(['self', 'operator'])
    .default('self')
    .describe('Who changes the plan of an organization: its owner, or the operator alone.'),
  JWT_ALGORITHM: z
    .enum(['RS256', 'HS256'])
    .default('RS256')
    .describe('Algorithm of access tokens. The verifier accepts this one only.'),
  JWT_SECRET: z.string().min(32).optional().describe('Secret for HS256, at least 32 characters, used as UTF-8 bytes.'),
  ACCESS_TOKEN_TTL: seconds(1, 86_400).default(3600).describe('Lifetime of an access token, in seconds.'),
  REFRESH_TOKEN_TTL: seconds(1, 31_536_000).default(604_800).describe('Lifetime of a refresh token, in seconds.'),
  SMTP_URL: url.optional().describe('Mail server, smtp:// or smtps://. Default: mails are written to the log.'),
  MAIL_FROM: z.string().min(3).default('Holdfast <holdfast@localhost>').describe('Sender of e-mails.'),
  DEFAULT_PLAN: z
    .enum(['starter', 'professional', 'enterprise'])
    .default('enterprise')
    .describe('Plan of a new organization.'),
  AUDIT_RETENTION_DAYS: z.coerce
    .number()
    .int()
    .min(1)
    .max(3650)
    .optional()
    .describe('Days audit rows are kept. Default: by plan, 30, 90 or 365.'),
  GEOIP_FILE: z
    .string()
    .optional()
    .describe('MaxMind city or country database that fills context.location of audit rows.'),
  ALLOW_EMULATOR_SOURCES: flag
    .optional()
    .describe(
      'Whether projects may connect to an emulator. Default: true only on loopback with the embedded database.',
    ),
  ALLOW_LOCAL_STORAGE: flag
    .optional()
    .describe(
      'Whether destinations may be folders below the data folder. Default: true only on loopback with the embedded database.',
    ),
  GOOGLE_API_ENDPOINTS: json
    .pipe(
      z.partialRecord(
        z.enum(['oauth2', 'firestore', 'firebase', 'cloudresourcemanager', 'identitytoolkit', 'storage']),
        z.string(),
      ),
    )
    .default({})
    .describe('JSON that points single Google APIs elsewhere.'),
  OUTBOUND_ALLOWED_SUBNETS: list
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()])))
    .default([])
    .describe('Private subnets that webhooks and custom storage endpoints may reach, comma-separated.'),
  RATE_LIMIT_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .default(600)
    .describe('Requests per minute for each credential and each organization.'),
  AUTH_RATE_LIMIT_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .default(30)
    .describe('Sign-in, token and refresh calls per minute for each address.'),
  REFUSED_RATE_LIMIT_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .default(120)
    .describe('Calls per minute and address that may be refused for want of a good credential.'),
  TRUST_PROXY: z
    .string()
    .default('false')
    .describe(
      'Proxies whose X-Forwarded-* headers count: true, false, a number of hops, or comma-separated addresses.',
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged.'),
  LOG_FORMAT: z
    .enum(['json', 'text'])
    .optional()
    .describe('How lines are logged: json or text. Default: text on a terminal, json elsewhere.'),
  METRICS_TOKEN: z
    .string()
    .min(8)
    .optional()
    .describe('Bearer token that /metrics asks for. Without it, /metrics answers only to loopback.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url
    .optional()
    .describe(
      'Receiver of OpenTelemetry traces, OTLP over HTTP with JSON, such as http://127.0.0.1:4318. Default: none.',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .optional()
    .describe('Headers that the receiver of traces asks for: name=value, comma-separated.'),
  OTEL_SERVICE_NAME: z.string().min(1).default('holdfast').describe('Name of this service in traces.'),
  SHUTDOWN_GRACE_SECONDS: seconds(0, 600)
    .default(20)
    .describe('How long running jobs and requests may finish on shutdown before they are handed back.'),
  WORKER_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe('Jobs of one kind that this process runs at once.'),
  RESTORE_RANGE_DOCUMENTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000)
    .default(50_000)
    .describe(
      'A restore of more documents than this is cut into ranges that several workers write at once; at most 32, then of more documents each.',
    ),
  ANOMALY_SHRINK_PERCENT: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(50)
    .describe('A backup that lost this share of its documents, or of a large collection, freezes retention.'),
  PITR_SEGMENT_SECONDS: z.coerce
    .number()
    .min(0.05)
    .max(300)
    .default(10)
    .describe('How often captured changes are sealed as a segment of the log, when there are some.'),
  PITR_READS_PER_HOUR: z.coerce
    .number()
    .int()
    .min(1000)
    .default(2_000_000)
    .describe('Documents that catching up may read within an hour, per project; then capture waits and the gap grows.'),
  JOB_ATTEMPTS: attempts(5).describe('How often a piece of a job is tried before a fault that may pass ends the job.'),
  SOURCE_RETRY_ATTEMPTS: attempts(10).describe('How often one call to a source is tried, with growing pauses between.'),
  STORAGE_RETRY_ATTEMPTS: attempts(12).describe('How often one call to a storage destination is tried.'),
});

export type Variables = z.infer<typeof variables>;

export interface Config
  extends Omit<
    Variables,
    'BASE_URL' | 'ALLOW_EMULATOR_SOURCES' | 'ALLOW_LOCAL_STORAGE' | 'HOLDFAST_DATA' | 'TRUST_PROXY'
  > {
  /** Set when the operator fixed it; otherwise the listening address decides, known only once the socket is open. */
  BASE_URL: string | undefined;
  HOLDFAST_DATA: string;
  ALLOW_EMULATOR_SOURCES: boolean;
  ALLOW_LOCAL_STORAGE: boolean;
  TRUST_PROXY: boolean | number | string[];
}

/** All faults of a configuration at once, one line each. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(
    Object.keys(variables.shape).map((name) => [name, environment[name] === '' ? undefined : environment[name]]),
  );
  const parsed = variables.safeParse(given);
  const faults = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path[0] as string}: ${issue.message}`);
  faults.push(...contradictions(given));
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults);
  return derive(parsed.data);
}

/** Faults that concern several variables at once. Read from the raw values, so that they are told together with the others. */
function contradictions(given: Record<string, string | undefined>): string[] {
  const faults: string[] = [];
  if (given.JWT_ALGORITHM === 'HS256' && !given.JWT_SECRET)
    faults.push('JWT_SECRET: is needed for JWT_ALGORITHM=HS256');
  if (given.OIDC_CLIENT_ID && !given.OIDC_CLIENT_SECRET)
    faults.push('OIDC_CLIENT_SECRET: is needed beside OIDC_CLIENT_ID');
  if (given.OIDC_ISSUER && !given.OIDC_CLIENT_ID) faults.push('OIDC_CLIENT_ID: is needed beside OIDC_ISSUER');
  if (given.OIDC_ISSUER?.startsWith('http://') && !isLoopback(hostOf(given.OIDC_ISSUER)))
    faults.push('OIDC_ISSUER: http:// is accepted on loopback only');
  if (given.DATABASE_APP_URL && !given.DATABASE_URL) faults.push('DATABASE_URL: is needed beside DATABASE_APP_URL');
  return faults;
}

function derive(values: Variables): Config {
  const isPersonal = isLoopback(values.HOST) && !values.DATABASE_URL;
  return {
    ...values,
    BASE_URL: values.BASE_URL?.replace(/\/+$/, ''),
    HOLDFAST_DATA: resolve(values.HOLDFAST_DATA),
    OIDC_ISSUER: values.OIDC_ISSUER ?? (values.OIDC_CLIENT_ID ? 'https://accounts.google.com' : undefined),
    ALLOW_EMULATOR_SOURCES: values.ALLOW_EMULATOR_SOURCES ?? isPersonal,
    ALLOW_LOCAL_STORAGE: values.ALLOW_LOCAL_STORAGE ?? isPersonal,
    TRUST_PROXY: parseTrustProxy(values.TRUST_PROXY),
  };
}

/** The sample lives in one process: where the roles are spread over several, each would have its own. */
export function offersSample({ ALLOW_EMULATOR_SOURCES, HOLDFAST_ROLES }: Config): boolean {
  return ALLOW_EMULATOR_SOURCES && roleNames.every((role) => HOLDFAST_ROLES.includes(role));
}

function parseTrustProxy(text: string): boolean | number | string[] {
  if (['true', 'yes', 'on'].includes(text)) return true;
  if (['false', 'no', 'off'].includes(text)) return false;
  return /^\d+$/.test(text) ? Number(text) : text.split(',').map((item) => item.trim());
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The effective configuration as text, each variable with its meaning, secrets masked. */
export function describeConfig(config: Config): string {
  return Object.entries(variables.shape)
    .map(([name, schema]) => `# ${schema.description}\n${name}=${printable(name, config[name as keyof Config])}`)
    .join('\n\n');
}

function printable(name: string, value: unknown): string {
  if (value === undefined) return '';
  if (secretNames.has(name)) return Array.isArray(value) && value.length === 0 ? '' : '********';
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
