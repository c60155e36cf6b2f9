/** The data of the sandbox's Google: people, OAuth clients, service accounts, projects and their Auth users. */

import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

export interface Person {
  readonly sub: string;
  readonly email: string;
  readonly name: string;
  readonly picture: string;
  readonly emailVerified: boolean;
}

export interface OAuthClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Exact addresses, as Google wants them; absent: any loopback address. */
  readonly redirectUris?: readonly string[];
}

export interface ServiceAccount {
  readonly email: string;
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

/** `owner` may do everything; `viewer` reads, with password hashes redacted; `none` is refused. */
export type Role = 'owner' | 'viewer' | 'none';

export interface DatabaseSeed {
  readonly databaseId: string;
  readonly locationId?: string;
  readonly pointInTimeRecovery?: boolean;
  readonly createTime?: string;
}

export interface ProjectSeed {
  readonly projectId: string;
  readonly displayName?: string;
  readonly projectNumber?: string;
  /** By e-mail address; people who are not listed are refused. Absent: everyone is an owner. */
  readonly grants?: Readonly<Record<string, Role>>;
  readonly databases?: readonly DatabaseSeed[];
  readonly users?: readonly AuthUser[];
}

/** The wire form of Identity Toolkit's UserInfo; only fields that the server itself reads are declared. */
export interface AuthUser {
  localId: string;
  email?: string;
  phoneNumber?: string;
  passwordHash?: string;
  salt?: string;
  customAttributes?: string;
  disabled?: boolean;
  tenantId?: string;
  providerUserInfo?: Record<string, unknown>[];
  [field: string]: unknown;
}

/** The parameters under which the project's own password hashes were made. */
export interface HashConfig {
  readonly algorithm: string;
  readonly signerKey: string;
  readonly saltSeparator: string;
  readonly rounds: number;
  readonly memoryCost: number;
}

export interface Project {
  readonly projectId: string;
  readonly projectNumber: string;
  readonly displayName: string;
  readonly grants: Readonly<Record<string, Role>> | undefined;
  readonly databases: Map<string, DatabaseSeed>;
  /** Sorted by local id when listed, as production does. Keyed by tenant and local id. */
  readonly users: Map<string, AuthUser>;
  /** The parameters of an imported password hash, by the same key as `users`. */
  readonly hashes: Map<string, Record<string, unknown>>;
  readonly hashConfig: HashConfig;
  readonly createTime: string;
}

export interface GoogleSeed {
  readonly people?: readonly Partial<Person>[];
  readonly clients?: readonly OAuthClient[];
  readonly projects?: readonly ProjectSeed[];
  readonly accessTokenSeconds?: number;
  readonly now?: () => number;
}

/** A service account key in the console's form, usable by google-auth-library. */
export interface ServiceAccountKey {
  readonly type: 'service_account';
  readonly project_id: string;
  readonly private_key_id: string;
  readonly private_key: string;
  readonly client_email: string;
  readonly client_id: string;
  readonly auth_uri: string;
  readonly token_uri: string;
  readonly universe_domain: string;
}

export class GoogleState {
  readonly people = new Map<string, Person>();
  readonly clients = new Map<string, OAuthClient>();
  readonly projects = new Map<string, Project>();
  readonly serviceAccounts = new Map<string, ServiceAccount>();
  readonly accessTokenSeconds: number;
  readonly now: () => number;

  constructor(seed: GoogleSeed) {
    this.now = seed.now ?? Date.now;
    this.accessTokenSeconds = seed.accessTokenSeconds ?? 3599;
    for (const person of seed.people ?? [{}]) this.addPerson(person);
    const clients = seed.clients ?? [{ clientId: 'sandbox-client', clientSecret: 'sandbox-secret' }];
    for (const client of clients) this.clients.set(client.clientId, client);
    for (const project of seed.projects ?? []) this.addProject(project);
  }

  addPerson(seed: Partial<Person>): Person {
    const email = seed.email ?? 'ada@example.com';
    const person: Person = {
      sub: seed.sub ?? `1${String(this.people.size + 1).padStart(20, '0')}`,
      email,
      name: seed.name ?? email.split('@')[0]!,
      picture: seed.picture ?? '',
      emailVerified: seed.emailVerified ?? true,
    };
    this.people.set(email, person);
    return person;
  }

  addProject(seed: ProjectSeed): Project {
    const project: Project = {
      projectId: seed.projectId,
      projectNumber: seed.projectNumber ?? String(100_000_000_000 + this.projects.size),
      displayName: seed.displayName ?? seed.projectId,
      grants: seed.grants,
      databases: new Map((seed.databases ?? [{ databaseId: '(default)' }]).map((item) => [item.databaseId, item])),
      users: new Map(),
      hashes: new Map(),
      hashConfig: {
        algorithm: 'SCRYPT',
        signerKey: randomBytes(64).toString('base64'),
        saltSeparator: 'Bw==',
        rounds: 8,
        memoryCost: 14,
      },
      createTime: new Date(this.now()).toISOString(),
    };
    for (const user of seed.users ?? []) project.users.set(userKey(user.tenantId, user.localId), { ...user });
    this.projects.set(project.projectId, project);
    return project;
  }

  addServiceAccount(projectId: string, name: string, tokenUri: string): ServiceAccountKey {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const email = `${name}@${projectId}.iam.gserviceaccount.com`;
    const keyId = randomBytes(20).toString('hex');
    this.serviceAccounts.set(email, { email, keyId, publicKey });
    return {
      type: 'service_account',
      project_id: projectId,
      private_key_id: keyId,
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      client_email: email,
      client_id: String(200_000_000_000 + this.serviceAccounts.size),
      auth_uri: tokenUri.replace(/token$/, 'o/oauth2/v2/auth'),
      token_uri: tokenUri,
      universe_domain: 'googleapis.com',
    };
  }

  /** The role of an identity in a project. An emulator's `owner` token may do everything. */
  role(project: Project, email: string): Role {
    if (email === emulatorOwner || project.grants === undefined) return 'owner';
    return project.grants[email] ?? 'none';
  }
}

export const emulatorOwner = 'owner';

export function userKey(tenantId: string | undefined, localId: string): string {
  return `${tenantId ?? ''}/${localId}`;
}
