import { resolve } from 'node:path';
import { z } from 'zod';
import {
  address,
  faultOf,
  flag,
  headers,
  hostName,
  isDomain,
  isSubnet,
  json,
  key32,
  list,
  listOf,
  postgres,
  proxies,
  sender,
  web,
  wholeNumber,
} from './setting-kinds.ts';

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

const seconds = wholeNumber;
const attempts = (usual: number) => wholeNumber(1, 100).default(usual);
const roleNames = ['api', 'worker', 'scheduler'] as const;

const variables = z.object({
  PORT: wholeNumber(0, 65_535).default(8787).describe('Port the service listens on; 0 picks a free one.'),
  HOST: hostName.default('127.0.0.1').describe('Address the service listens on.'),
  BASE_URL: web
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
  DATABASE_URL: postgres
    .optional()
    .describe(
      'PostgreSQL 14 or newer, as a role that may create roles and owns the database. Default: an embedded PostgreSQL in the data folder.',
    ),
  DATABASE_APP_URL: postgres
    .optional()
    .describe(
      'Login the running service uses, when the one in DATABASE_URL may not create roles. It must be a member of holdfast_tenant, holdfast_system and holdfast_queue, without inheriting them.',
    ),
  DATABASE_POOL_SIZE: wholeNumber(2, 200)
    .default(16)
    .describe(
      'Database connections the service may hold, half of them for calls and half for jobs if it does both, at least two each.',
    ),
  REDIS_URL: address('redis', 'rediss')
    .optional()
    .describe('Optional Redis that shares rate limits between API processes.'),
  MASTER_KEY: key32
    .optional()
    .describe(
      'Master key, 32 bytes in base64. Default: a file with mode 0600 in the data folder, made on first start.',
    ),
  MASTER_KEYS_PREVIOUS: list
    .pipe(z.array(key32))
    .default([])
    .describe('Earlier master keys, comma-separated, still able to open what they sealed until it is sealed again.'),
  OIDC_ISSUER: web
    .optional()
    .describe("OpenID Connect issuer. Default: Google's, once OIDC_CLIENT_ID is set. http:// only on loopback."),
  OIDC_CLIENT_ID: z.string().min(1).optional().describe('Client id at the identity provider.'),
  OIDC_CLIENT_SECRET: z.string().min(1).optional().describe('Client secret at the identity provider.'),
  ALLOWED_REDIRECT_URIS: listOf((item) => URL.canParse(item), 'a whole address')
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
  SIGN_UP_DOMAINS: listOf(isDomain, 'a domain such as example.com')
    .transform((domains) => domains.map((domain) => domain.toLowerCase().replace(/^@/, '')))
    .default([])
    .describe(
      'Domains whose people may sign up without an invitation, by their verified e-mail address, comma-separated.',
    ),
  ORGANIZATIONS_PER_USER_MAX: wholeNumber(1, 10_000).default(20).describe('Organizations one person may own.'),
  WEBHOOKS_PER_ORGANIZATION_MAX: wholeNumber(1, 10_000).default(50).describe('Webhooks an organization may have.'),
  PROJECTS_PER_ORGANIZATION_MAX: wholeNumber(1, 100_000)
    .default(5000)
    .describe('Connected projects an organization may have.'),
  STORAGE_DESTINATIONS_PER_ORGANIZATION_MAX: wholeNumber(1, 10_000)
    .default(500)
    .describe('Storage destinations an organization may have.'),
  SCHEDULES_PER_ORGANIZATION_MAX: wholeNumber(1, 100_000)
    .default(10_000)
    .describe('Schedules an organization may have.'),
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
  SMTP_URL: address('smtp', 'smtps')
    .optional()
    .describe('Mail server, smtp:// or smtps://. Default: mails are written to the log.'),
  MAIL_FROM: sender.default('Holdfast <holdfast@localhost>').describe('Sender of e-mails.'),
  DEFAULT_PLAN: z
    .enum(['starter', 'professional', 'enterprise'])
    .default('enterprise')
    .describe('Plan of a new organization.'),
  AUDIT_RETENTION_DAYS: wholeNumber(1, 3650)
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
        web,
      ),
    )
    .default({})
    .describe('JSON that points single Google APIs elsewhere.'),
  OUTBOUND_ALLOWED_SUBNETS: listOf(isSubnet, 'a subnet such as 10.0.0.0/8')
    .default([])
    .describe('Private subnets that webhooks and custom storage endpoints may reach, comma-separated.'),
  RATE_LIMIT_PER_MINUTE: wholeNumber(1)
    .default(600)
    .describe('Requests per minute for each credential and each organization.'),
  AUTH_RATE_LIMIT_PER_MINUTE: wholeNumber(1)
    .default(30)
    .describe('Sign-in, token and refresh calls per minute for each address.'),
  REFUSED_RATE_LIMIT_PER_MINUTE: wholeNumber(1)
    .default(120)
    .describe('Calls per minute and address that may be refused for want of a good credential.'),
  TRUST_PROXY: proxies
    .default(false)
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
    .regex(/^[!-~]*$/, 'must be letters, digits and signs of ASCII without spaces, as a header carries them')
    .optional()
    .describe('Bearer token that /metrics asks for. Without it, /metrics answers only to loopback.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: web
    .optional()
    .describe(
      'Receiver of OpenTelemetry traces, OTLP over HTTP with JSON, such as http://127.0.0.1:4318. Default: none.',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: headers
    .optional()
    .describe('Headers that the receiver of traces asks for: name=value, comma-separated.'),
  OTEL_SERVICE_NAME: z.string().min(1).default('holdfast').describe('Name of this service in traces.'),
  SHUTDOWN_GRACE_SECONDS: seconds(0, 600)
    .default(20)
    .describe('How long running jobs and requests may finish on shutdown before they are handed back.'),
  WORKER_CONCURRENCY: wholeNumber(1, 64).default(4).describe('Jobs of one kind that this process runs at once.'),
  RESTORE_RANGE_DOCUMENTS: wholeNumber(1, 100_000_000)
    .default(50_000)
    .describe(
      'A restore of more documents than this is cut into ranges that several workers write at once; at most 32, then of more documents each.',
    ),
  ANOMALY_SHRINK_PERCENT: wholeNumber(1, 100)
    .default(50)
    .describe('A backup that lost this share of its documents, or of a large collection, freezes retention.'),
  PITR_SEGMENT_SECONDS: z.coerce
    .number()
    .min(0.05)
    .max(300)
    .default(10)
    .describe('How often captured changes are sealed as a segment of the log, when there are some.'),
  PITR_READS_PER_HOUR: wholeNumber(1000)
    .default(2_000_000)
    .describe('Documents that catching up may read within an hour, per project; then capture waits and the gap grows.'),
  JOB_ATTEMPTS: attempts(5).describe('How often a piece of a job is tried before a fault that may pass ends the job.'),
  SOURCE_RETRY_ATTEMPTS: attempts(10).describe('How often one call to a source is tried, with growing pauses between.'),
  STORAGE_RETRY_ATTEMPTS: attempts(12).describe('How often one call to a storage destination is tried.'),
});

export type Variables = z.infer<typeof variables>;

export interface Config
  extends Omit<Variables, 'BASE_URL' | 'ALLOW_EMULATOR_SOURCES' | 'ALLOW_LOCAL_STORAGE' | 'HOLDFAST_DATA'> {
  /** Set when the operator fixed it; otherwise it follows from the listening address, known once the socket is open. */
  BASE_URL: string | undefined;
  HOLDFAST_DATA: string;
  ALLOW_EMULATOR_SOURCES: boolean;
  ALLOW_LOCAL_STORAGE: boolean;
  /** Whether this service has the sample database. Services that share their roles would each have their own. */
  offersSample: boolean;
}

/** All faults of a configuration, one line each. */
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
    settingNames.map((name) => [name, environment[name] === '' ? undefined : environment[name]]),
  );
  const parsed = variables.safeParse(given);
  const faults = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path[0] as string}: ${faultOf(issue)}`);
  faults.push(...contradictions(given));
  if (!parsed.success || faults.length > 0) throw new ConfigurationError(faults);
  return derive(parsed.data);
}

/**
 * Faults that concern several variables. They use the raw values, so that they are reported together with the others.
 */
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
  const allowsEmulators = values.ALLOW_EMULATOR_SOURCES ?? isPersonal;
  return {
    ...values,
    BASE_URL: values.BASE_URL?.replace(/\/+$/, ''),
    HOLDFAST_DATA: resolve(values.HOLDFAST_DATA),
    OIDC_ISSUER: values.OIDC_ISSUER ?? (values.OIDC_CLIENT_ID ? 'https://accounts.google.com' : undefined),
    ALLOW_EMULATOR_SOURCES: allowsEmulators,
    ALLOW_LOCAL_STORAGE: values.ALLOW_LOCAL_STORAGE ?? isPersonal,
    offersSample: allowsEmulators && roleNames.every((role) => values.HOLDFAST_ROLES.includes(role)),
  };
}

/** Whether people sign in at Google itself, or at its configured replacement: only there can they give consent. */
export function asksGoogle({ OIDC_ISSUER, GOOGLE_API_ENDPOINTS }: Config): boolean {
  if (OIDC_ISSUER === undefined) return false;
  const { origin } = new URL(OIDC_ISSUER);
  const standIn = GOOGLE_API_ENDPOINTS.oauth2;
  return (
    origin === 'https://accounts.google.com' ||
    (standIn !== undefined && URL.canParse(standIn) && origin === new URL(standIn).origin)
  );
}

/**
 * A refresh token of another provider would be sent to Google with the client's secret, and could never open a project.
 */
export function keepsConsent(config: Config): boolean {
  return asksGoogle(config) || config.GOOGLE_API_ENDPOINTS.oauth2 !== undefined;
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The effective configuration as text, each variable with its meaning, secrets masked. */
export const settingNames: readonly string[] = Object.keys(variables.shape);

/** What is allowed but rarely intended. */
export function remarksOn({ DATABASE_URL, MASTER_KEY, HOLDFAST_DATA }: Config): string[] {
  if (!DATABASE_URL || MASTER_KEY) return [];
  return [
    `MASTER_KEY: is empty, so a key is made in ${HOLDFAST_DATA}. A process with another folder cannot open what this one seals, and no backup can be read once the folder is lost. Set it, the same for every process: \`openssl rand -base64 32\`.`,
  ];
}

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
