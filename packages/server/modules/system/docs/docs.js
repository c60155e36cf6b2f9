/** Search over the page, and opening what an address names. */
const input = document.getElementById('search');
const found = document.getElementById('found');
const entries = [...document.querySelectorAll('.entry')];

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const entry of entries) {
    const isMatch = words.every((word) => entry.dataset.words.includes(word));
    entry.hidden = !isMatch;
    if (isMatch) count += 1;
  }
  for (const section of document.querySelectorAll('main > section'))
    section.hidden = !section.querySelector('.entry:not([hidden])');
  found.textContent = words.length === 0 ? '' : `${count} found`;
  const address = new URL(location.href);
  if (words.length === 0) address.searchParams.delete('q');
  else address.searchParams.set('q', input.value);
  history.replaceState(null, '', address);
}

function openNamed() {
  const named = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named) return;
  if (named.hidden || named.parentElement?.hidden) {
    input.value = '';
    search();
  }
  if (named.matches('.entry')) named.open = true;
  named.scrollIntoView();
}

document.querySelector('.search').hidden = false;
input.value = new URLSearchParams(location.search).get('q') ?? '';
if (input.value !== '') search();
input.addEventListener('input', search);
addEventListener('hashchange', openNamed);
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target === input || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
});
openNamed();
