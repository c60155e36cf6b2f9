import { readFileSync } from 'node:fs';
import { type CityResponse, Reader, type Response, validate } from 'maxmind';
import { StartFailure } from '../../platform/start-failure.ts';

/** The location of an address from the operator's GeoIP file: `Zurich, Switzerland`. Read once, at the start. */
export function createLocator(file: string | undefined): (ip: string | null) => string | null {
  if (!file) return () => null;
  const reader = openFile(file);
  return (ip) => {
    const address = ip?.replace(/^::ffff:(?=\d+\.)/i, '');
    return address && validate(address) ? describe(reader.get(address)) : null;
  };
}

function openFile(file: string): Reader<Response> {
  try {
    return new Reader<Response>(readFileSync(file));
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'it is no MaxMind database';
    throw new StartFailure(`GEOIP_FILE: ${file} cannot be used (${reason}).`, { cause: error });
  }
}

function describe(found: Response | null): string | null {
  const place = found as Partial<CityResponse> | null;
  const parts = [place?.city?.names?.en, (place?.country ?? place?.registered_country)?.names?.en];
  return (
    parts
      .filter((part) => part !== undefined)
      .join(', ')
      .slice(0, 200) || null
  );
}
