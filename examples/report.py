"""
A report to send to colleagues
==============================

One HTML file that opens in any browser, offline. Here wines are clustered by their
chemistry with ECPCS-HC, and compared with the grapes they are made from.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from ensclust import ECPCSHC, consensus, select_k, write_report

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
grapes = wine.target_names[wine.target]
folder = TemporaryDirectory()  # or any other directory

# %%
# Given the features, the truth and a choice of k, the page shows all of them.

model = ECPCSHC(3, random_state=0).fit(X)
choice = select_k(model.ensemble_, range(2, 11), random_state=0)
page = Path(folder.name, "wine.html")
model.report(page, X, truth=grapes, selection=choice, title="178 wines")

# %%
# Any clustering can be compared with any base clusterings, here without features.
labels = consensus(model.ensemble_, 3, method="eac")
other = Path(folder.name, "labels.html")
write_report(other, model.ensemble_, labels, title="The same by EAC")

for path in (page, other):
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")

folder.cleanup()

# sphinx_gallery_thumbnail_path = "report.png"
