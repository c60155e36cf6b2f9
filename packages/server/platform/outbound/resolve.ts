import { Resolver } from 'node:dns/promises';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';

/** All addresses of a name. Throws when there are none. */
export type Resolve = (name: string) => Promise<string[]>;

const queryTimeoutMs = 2500;
const queryTries = 2;
const answersMax = 32;

/**
 * Asks the name servers without the system's resolver, which runs on two threads for the whole process: two names whose
 * servers never answer would block every other look-up. The hosts file is respected.
 */
export function createResolver(options: { hostsPath?: string; servers?: readonly string[] } = {}): Resolve {
  const hosts = new HostsFile(options.hostsPath ?? '/etc/hosts');
  return async (given) => {
    const name = given.toLowerCase().replace(/\.$/, '');
    const kept = await hosts.find(name);
    if (kept.length > 0) return kept;
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    return askServers(name, options.servers);
  };
}

async function askServers(name: string, servers: readonly string[] | undefined): Promise<string[]> {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: queryTries });
  if (servers) resolver.setServers(servers);
  const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  if (addresses.length > 0) return addresses.slice(0, answersMax);
  throw notFound(name, (families[0] as PromiseRejectedResult).reason);
}

/** A name server's answers about a name. Other errors are about the name server and not about the name. */
const answersOfServers = ['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'ETIMEOUT'];

function notFound(name: string, cause: NodeJS.ErrnoException | undefined): NodeJS.ErrnoException {
  const code = cause?.code !== undefined && answersOfServers.includes(cause.code) ? cause.code : 'ESERVFAIL';
  return Object.assign(new Error(`${name} could not be resolved`, { cause }), { code });
}

/** Read again whenever the file changes. */
class HostsFile {
  readonly #path: string;
  #changedMs = -1;
  #addresses = new Map<string, string[]>();

  constructor(path: string) {
    this.#path = path;
  }

  async find(name: string): Promise<string[]> {
    const found = await stat(this.#path).catch(() => undefined);
    if (found && found.mtimeMs !== this.#changedMs) {
      this.#addresses = parseHosts(await readFile(this.#path, 'utf8').catch(() => ''));
      this.#changedMs = found.mtimeMs;
    }
    return this.#addresses.get(name) ?? [];
  }
}

function parseHosts(text: string): Map<string, string[]> {
  const addresses = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address || isIP(address) === 0) continue;
    for (const name of names)
      addresses.set(name.toLowerCase(), [...(addresses.get(name.toLowerCase()) ?? []), address]);
  }
  return addresses;
}
