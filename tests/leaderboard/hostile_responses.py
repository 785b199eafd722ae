"""Twenty responses that try to be more than text, for every page that shows responses."""

from __future__ import annotations

HOSTILE_RESPONSES = (
    "<script>window.pwned=1</script>",
    '"><img src="http://beacon.invalid/x.png" onerror="window.pwned=1">',
    "<svg onload=window.pwned=1><circle r=9 /></svg>",
    "<style>* { display: none }</style>",
    '<iframe src="http://beacon.invalid/"></iframe>',
    "<form action='http://beacon.invalid/'><input name=token autofocus onfocus=window.pwned=1></form>",
    "<math><mtext></table><img src=x onerror=window.pwned=1>",
    "<a href='javascript:window.pwned=1'>here</a>",
    "</div></div></body><h1>Another page</h1>",
    "<!-- <img src=http://beacon.invalid/z.png> --> and on",
    "![beacon](http://beacon.invalid/y.png)",
    "[click](javascript:window.pwned=1) and :material/home: and :red[red]",
    r"$\href{javascript:window.pwned=1}{x}$ $$\frac{1}{0}$$",
    "{{7*7}} ${window.pwned=1} #{window.pwned=1}",
    "&lt;script&gt;window.pwned=1&lt;/script&gt; &amp;amp;",
    "\\u003cscript\\u003ewindow.pwned=1",
    "right to left \u202e gnp.exe and hidden\u200b\u2060 joints",
    "a\u0301" + "\u0301" * 400,
    "Z" * 3000,
    '=HYPERLINK("http://beacon.invalid/") | a | b | c |\n|---|---|\n\'; DROP TABLE ratings; --',
)
